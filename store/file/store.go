package file

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/leatstream/leat/lease"
)

// Store is a lease.Store in a folder of this machine. Every answer is consistent, and lists come
// sorted by key. Make one with New; any number of Stores, in any number of processes, may use one
// folder.
type Store struct {
	// NoSync leaves it to the operating system when a write reaches the disk. After a power loss the
	// writes of the last seconds (Linux: about 30) can then be gone, so that the records since older
	// checkpoints are handled again; the folder stays readable. Without it an acknowledged write
	// survives, and costs one fsync. Neither matters when processes die. Set it before Open.
	NoSync bool

	dir string

	mu   sync.Mutex
	log  *log   // nil before Open
	name string // first part of the versions that this Store writes: no other Store has it
	next uint64

	// For tests.
	write  func(*os.File, []byte) (int, error)
	step   func(string) // called between the steps of a write
	rollAt int64
}

// rollAt is the size at which a log ends and the next one begins: reading one takes about 0.1 s.
const rollAt = 4 << 20

// New returns a Store in the folder dir, which need not be there yet. It does no IO.
func New(dir string) *Store {
	return &Store{
		dir:    dir,
		name:   strings.ToLower(rand.Text()[:12]),
		write:  writeOnce,
		step:   func(string) {},
		rollAt: rollAt,
	}
}

// Open implements lease.Store. A folder that holds files but no log of leat's is refused, whatever
// create says. With create, missing parents of the folder are made, too.
func (s *Store) Open(ctx context.Context, create bool) (lease.Info, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	info, err := s.open(ctx, create)
	if err != nil {
		return lease.Info{}, s.explain("open", err)
	}
	return info, nil
}

func (s *Store) open(ctx context.Context, create bool) (lease.Info, error) {
	if err := ctx.Err(); err != nil {
		return lease.Info{}, err
	}
	dir, err := filepath.Abs(s.dir)
	if err != nil {
		return lease.Info{}, err
	}
	s.dir = dir
	numbers, temps, stranger, err := list(dir)
	absent := errors.Is(err, fs.ErrNotExist) || err == nil && len(numbers) == 0
	switch {
	case err == nil && absent && stranger != "":
		return lease.Info{}, fmt.Errorf("the folder holds %q and no lease store: choose an empty or a new one", stranger)
	case absent && !create:
		return lease.Info{}, lease.ErrStoreGone
	case absent:
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return lease.Info{}, err
		}
		text, err := logText(header{ID: strings.ToLower(rand.Text()), Log: 1}, nil)
		if err != nil {
			return lease.Info{}, err
		}
		if err := s.createLog(1, text); err != nil {
			return lease.Info{}, err
		}
	case err != nil:
		return lease.Info{}, err
	}
	sweep(dir, temps)
	newest, err := openNewest(ctx, dir)
	if err != nil {
		return lease.Info{}, err
	}
	s.use(newest)
	return lease.Info{ID: newest.header.ID}, nil
}

// openNewest opens the log with the highest number.
func openNewest(ctx context.Context, dir string) (*log, error) {
	for last := 0; ; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		numbers, _, _, err := list(dir)
		if err != nil {
			return nil, err
		}
		if len(numbers) == 0 {
			return nil, lease.ErrStoreGone
		}
		number := slices.Max(numbers)
		l, err := openLog(dir, number)
		if !errors.Is(err, errStub) {
			return l, err
		}
		// It was the newest once, before we were stopped for a while.
		if number == last {
			return nil, fmt.Errorf("%s is damaged: the last log is empty", filepath.Join(dir, fmt.Sprintf(logPattern, number)))
		}
		last = number
	}
}

func (s *Store) use(l *log) {
	if s.log != nil {
		s.log.file.Close()
	}
	s.log = l
}

// Close lets go of the folder. Calls after it fail; Open makes the Store usable again.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.log == nil {
		return nil
	}
	err := s.log.file.Close()
	s.log = nil
	return err
}

// look brings s.log up to date: afterwards it shows the items as they are now.
func (s *Store) look(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.log == nil {
		return errors.New("the store is not open")
	}
	if err := s.log.catchUp(); err != nil {
		return err
	}
	for s.log.ended {
		next, err := openLog(s.dir, s.log.number+1)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // nothing can have been written since the end
		}
		if errors.Is(err, errStub) {
			next, err = openNewest(ctx, s.dir)
		}
		if err != nil {
			return err
		}
		if next.header.ID != s.log.header.ID {
			next.file.Close()
			return fmt.Errorf("another store has taken the place of this one: %w", lease.ErrStoreGone)
		}
		s.use(next)
	}
	return nil
}

// Members implements lease.Store. The answer is always consistent; the slice is the caller's. If one
// member cannot be read the error is its *lease.ItemError: a worker that is left out would count as
// gone.
func (s *Store) Members(ctx context.Context, group string, consistent bool) ([]lease.Item, error) {
	entries, err := s.entries(ctx, group, "")
	if err != nil {
		return nil, s.explain("members", err)
	}
	items := make([]lease.Item, 0, len(entries))
	for _, e := range entries {
		if e.item.Key.Kind == 0 {
			continue // of a kind that only a later leat knows
		}
		if e.err != nil {
			return nil, s.explain("members", e.err)
		}
		items = append(items, e.item)
	}
	return items, nil
}

// Leases implements lease.Store. It yields the leases as they stood when the iteration began.
func (s *Store) Leases(ctx context.Context, group, stream string) iter.Seq2[lease.Item, error] {
	return func(yield func(lease.Item, error) bool) {
		entries, err := s.entries(ctx, group, folder(lease.LeaseKey(stream, "")))
		for _, e := range entries {
			if err = ctx.Err(); err != nil || !yield(e.item, e.err) {
				break
			}
		}
		if err != nil {
			yield(lease.Item{}, s.explain("leases", err))
		}
	}
}

func (s *Store) entries(ctx context.Context, group, folder string) ([]*entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.look(ctx); err != nil {
		return nil, err
	}
	return s.log.list(group, folder), nil
}

// Get implements lease.Store.
func (s *Store) Get(ctx context.Context, group string, key lease.Key) (lease.Item, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.look(ctx); err != nil {
		return lease.Item{}, s.explain("get "+key.String(), err)
	}
	e := s.log.get(group, key)
	if e == nil {
		return lease.Item{}, lease.ErrNotFound
	}
	if e.err != nil {
		return lease.Item{}, s.explain("get", e.err)
	}
	return e.item, nil
}

// explain says which store an error is of, and what was being done.
func (s *Store) explain(doing string, err error) error {
	return fmt.Errorf("lease store %s: %s: %w", s.dir, doing, err)
}
