package dispatch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leatstream/leat/internal/record"
)

// handouts notes what a lane hands out.
type handouts struct {
	began time.Time
	got   []string
}

func (c *handouts) note(records []record.Record) {
	var ns []string
	for i := range records {
		ns = append(ns, fmt.Sprint(number(&records[i])))
	}
	c.got = append(c.got, fmt.Sprintf("%v %s", time.Since(c.began), strings.Join(ns, ",")))
}

func (c *handouts) want(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(c.got, want) {
		t.Errorf("calls:\n\t%s\nwant:\n\t%s", strings.Join(c.got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// batchBench runs a lane in batches for a virtual hour, over 8 records of 4 keys if they are keyed.
func batchBench(t *testing.T, cfg LaneConfig, handle func([]record.Record) error) (*handouts, *bench) {
	c := &handouts{began: time.Now()}
	cfg.Handle = func(_ context.Context, records []record.Record) error {
		c.note(records)
		return handle(records)
	}
	b := benchOf(cfg)
	b.Push(keyed(1, 8, 4), nil, true)
	pass(time.Hour)
	b.Drain()
	b.Free()
	<-b.Done()
	return c, b
}

func has(records []record.Record, n int) bool {
	return slices.ContainsFunc(records, func(r record.Record) bool { return number(&r) == n })
}

// A batch that fails is tried again whole; at the fifth failure in halves, until only the record that fails is
// left. What is beside it goes on.
func TestLaneHalvesABatchThatGoesOnFailing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, b := batchBench(t, LaneConfig{Batch: Batch{Records: 8}, Retry: Retry{MaxPause: time.Second}}, func(records []record.Record) error {
			if has(records, 3) && records[0].Attempt < 9 {
				return errors.New("no")
			}
			return nil
		})
		c.want(t, "0s 1,2,3,4,5,6,7,8", "100ms 1,2,3,4,5,6,7,8", "300ms 1,2,3,4,5,6,7,8", "700ms 1,2,3,4,5,6,7,8", "1.5s 1,2,3,4,5,6,7,8",
			"2.5s 1,2,3,4", "3.5s 1,2", "3.5s 3,4", "4.5s 3", "5.5s 3", "5.5s 4", "5.5s 5,6,7,8")
		if told := b.told(); len(told) != 2 || told[0] == nil || told[1] != nil || b.ended != 1 {
			t.Errorf("told %v, ended %d", told, b.ended)
		}
	})
}

// With order per key the halves have different keys, and do not wait for each other.
func TestLaneHalvesByKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, b := batchBench(t, LaneConfig{PerKey: true, AtOnce: 1, MaxInFlight: 100, Batch: Batch{Records: 8}, Retry: Retry{MaxPause: time.Second}}, func(records []record.Record) error {
			if has(records, 3) {
				return errors.New("no")
			}
			return nil
		})
		c.got = c.got[5:min(len(c.got), 12)]
		slices.Sort(c.got) // what is due at one moment comes in any order
		c.want(t, "2.5s 1,2,5,6", "2.5s 3,4,7,8", "3.5s 3,7", "3.5s 4,8", "4.5s 3", "5.5s 3", "6.5s 3")
		if s := b.State(); s.Handled != 6 || b.Watermark() != at(2) {
			t.Errorf("%+v, watermark %v", s, b.Watermark())
		}
	})
}

// A BatchError leaves what is before it handled; tries are counted for the record that it names only.
func TestLaneBatchErrorNamesTheRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var given []int
		cfg := LaneConfig{
			Batch: Batch{Records: 8}, Retry: Retry{Attempts: 2},
			GiveUp: func(_ context.Context, r *record.Record, cause error) error {
				given = append(given, number(r), r.Attempt)
				return nil
			},
		}
		c, b := batchBench(t, cfg, func(records []record.Record) error {
			for i := range records {
				if n := number(&records[i]); n == 3 || n == 6 {
					return fmt.Errorf("wrapped: %w", &BatchError{Index: i, Err: errors.New("no")})
				}
			}
			return nil
		})
		c.want(t, "0s 1,2,3,4,5,6,7,8", "100ms 3,4,5,6,7,8", "100ms 4,5,6,7,8", "200ms 6,7,8", "200ms 7,8")
		if !slices.Equal(given, []int{3, 2, 6, 4}) || b.ended != 1 {
			t.Errorf("given up (record, attempt) %v, ended %d", given, b.ended)
		}
	})
}

// The pauses begin anew when a batch has got further.
func TestLanePauseAfterProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := batchBench(t, LaneConfig{Batch: Batch{Records: 8}}, func(records []record.Record) error {
			switch n := number(&records[0]); {
			case n == 1 && records[0].Attempt == 4:
				return &BatchError{Index: 4, Err: errors.New("no")}
			case n == 1:
				return errors.New("no")
			}
			return nil
		})
		c.want(t, "0s 1,2,3,4,5,6,7,8", "100ms 1,2,3,4,5,6,7,8", "300ms 1,2,3,4,5,6,7,8", "700ms 1,2,3,4,5,6,7,8", "800ms 5,6,7,8")
	})
}

// A batch waits to fill, but no longer than MaxWait, and not at the shard's end.
func TestLaneBatchWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &handouts{began: time.Now()}
		b := benchOf(LaneConfig{
			Batch:  Batch{Records: 4, Bytes: 10, Wait: time.Second},
			Handle: func(_ context.Context, records []record.Record) error { c.note(records); return nil },
		})
		for n := 1; n <= 4; n++ { // full by number; more answers than are read ahead otherwise
			if _, _, err := b.Room(t.Context()); err != nil {
				t.Fatal(err)
			}
			records := numbered(n, n)
			records[0].Data = nil
			b.Push(records, nil, false)
			pass(100 * time.Millisecond)
		}
		b.Push(numbered(5, 6), nil, false) // 5 and 6 bytes: full by bytes
		pass(10 * time.Second)
		b.Push(numbered(15, 15), nil, false)
		pass(500 * time.Millisecond)
		b.Push(numbered(16, 16), nil, false)
		pass(10 * time.Second)
		b.Push(numbered(22, 22), nil, true)
		<-b.Done()
		b.Free()
		c.want(t, "300ms 1,2,3,4", "400ms 5", "1.4s 6", "11.4s 15,16", "20.9s 22")
	})
}

// A BatchError that makes no sense leaves nothing handled, and says so.
func TestLaneBatchErrorThatMakesNoSense(t *testing.T) {
	for err, want := range map[error]string{
		&BatchError{Index: 8, Err: errors.New("no")}:  "a BatchError with Index 8 for a batch of 8 records: none of them counts as handled: no",
		&BatchError{Index: -1, Err: errors.New("no")}: "a BatchError with Index -1 for a batch of 8 records: none of them counts as handled: no",
		&BatchError{Index: 3}:                         "a BatchError with Index 3 and no Err: none of the 8 records counts as handled",
	} {
		synctest.Test(t, func(t *testing.T) {
			b := benchOf(LaneConfig{Batch: Batch{Records: 8}, Handle: func(context.Context, []record.Record) error { return err }})
			b.Push(keyed(1, 8, 4), nil, true)
			synctest.Wait()
			if s := b.State(); s.Handled != 0 || s.Err == nil || s.Err.Error() != want {
				t.Errorf("%+v", s)
			}
			b.Drain()
			b.Free()
			<-b.Done()
		})
	}
}
