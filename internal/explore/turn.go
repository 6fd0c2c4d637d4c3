package explore

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/leatstream/leat/lease"
)

// world makes the turns from state to state.
type world struct {
	cfg    Config
	tables tables
	hasher hasher
	choice []move
	sights sights
	note   func(format string, args ...any) // hears of all that happens, if set
}

// Violation is a broken invariant.
type Violation struct{ Invariant, Detail string }

func (v *Violation) String() string { return v.Invariant + ": " + v.Detail }

// turn is a transition that is being made: the state becomes its successor.
type turn struct {
	*world
	state
	bad *Violation
}

func (t *turn) violate(invariant, format string, args ...any) {
	if t.bad == nil {
		t.bad = &Violation{invariant, fmt.Sprintf(format, args...)}
	}
}

func (t *turn) tell(format string, args ...any) {
	if t.note != nil {
		t.note(format, args...)
	}
}

// clock is what a process's lease clock shows.
func (t *turn) clock(p *process) lease.Time {
	return lease.Time(int64(t.now-p.missed) * int64(t.cfg.Tick))
}

// join lets a process begin with a new member.
func (t *turn) join(i int) {
	p := t.proc(i)
	p.life, p.proved = running, 0
	if t.cfg.Bug != ReusedID || p.run == 0 {
		p.run++
		p.id = string(rune('a'+i)) + strconv.Itoa(int(p.run))
	}
	t.tell("%s starts", p.id)
	p.member = t.tables.member(lease.NewMember(t.cfg.member(i, p.id)), 0)
	t.step(i, event{})
}

// step tells a member an event, and what follows from it inside the process; its requests become letters.
func (t *turn) step(i int, ev event) {
	p := t.proc(i)
	if p.steps++; p.steps > 200 {
		t.violate("busy", "%s makes more than 200 steps within a tick", p.id)
		return
	}
	now := t.clock(p)
	for events := []event{ev}; len(events) > 0 && (p.life == running || p.life == paused); events = events[1:] {
		done := t.tables.step(p.id, p.member, now, events[0], t.build)
		p.member = done.next
		for k, a := range done.acts {
			events = append(events, t.do(p, a, done.ws[k])...)
		}
	}
	if slices.ContainsFunc(p.letters, func(l letter) bool { return l.fresh }) {
		t.talks = int8(i)
	} else {
		t.talks = -1
	}
}

// do carries out an action; requests wait as letters. It returns what the member is to be told at once.
func (t *turn) do(p *process, action lease.Action, w *write) []event {
	l := letter{fresh: true, sent: t.now, then: t.store}
	switch a := action.(type) {
	case lease.ReadMembers:
		l.kind, l.strong = membersEvent, a.Consistent
		p.letters = append(p.letters, l)
	case lease.ReadLeases:
		l.kind = leasesEvent
		p.letters = append(p.letters, l)
	case lease.ListShards:
		l.kind, l.all, l.then = listedEvent, a.All, nil
		p.letters = append(p.letters, l)
	case lease.WriteItem:
		l.kind, l.write, l.then = writtenEvent, w, nil
		p.letters = append(p.letters, l)
	case lease.Open:
		return t.open(p, a)
	case lease.Drain:
		for k := range p.grants {
			if g := &p.grants[k]; g.token == int16(a.Token) && t.cfg.Shards[g.shard].ID == a.Shard {
				t.tell("%s drains %s", p.id, a.Shard)
				g.draining = true
				return t.drained(g)
			}
		}
		t.violate("drain", "%s drains %s, token %d, which is not open", p.id, a.Shard, a.Token)
	case lease.Close:
		t.close(p, a)
	case lease.Done:
		p.life = left
		if errors.Is(a.Err, lease.ErrFenced) {
			p.life = fenced
		}
		t.tell("%s is done: %v", p.id, a.Err)
		for _, l := range p.letters { // what is under way is nobody's any more
			t.orphan(l)
		}
		p.letters, p.grants = nil, nil
	}
	return nil
}

// orphan keeps a write whose sender will not hear of it.
func (t *turn) orphan(l letter) {
	if l.kind != writtenEvent || l.applied || t.dead(l.write) {
		return
	}
	at, _ := slices.BinarySearchFunc(t.late, l.write.id, func(w *write, id uint64) int {
		switch {
		case w.id < id:
			return -1
		case w.id > id:
			return 1
		}
		return 0
	})
	t.late = slices.Insert(slices.Clone(t.late), at, l.write)
}

// dead says that a write can never be applied: counters only grow while their item is there, and only leases
// and the items of workers are ever deleted and made again; of these only the former under one name.
func (t *turn) dead(w *write) bool {
	if t.cfg.Bug != NoBug || w.Op != lease.Update || w.Item.Key.Kind == lease.KindLease && t.cfg.deletes() {
		return false
	}
	it := t.store.get(w.Item.Key)
	return it != nil && it.Counter > w.Counter
}

// bury forgets the late writes that can never be applied.
func (t *turn) bury() {
	if slices.ContainsFunc(t.late, t.dead) {
		t.late = slices.DeleteFunc(slices.Clone(t.late), t.dead)
	}
}

// build makes the event that a member is told.
func (w *world) build(ev event) lease.Event {
	switch ev.kind {
	case stopEvent:
		return lease.Stop{}
	case membersEvent:
		if ev.store == nil {
			return lease.MembersRead{Err: errFailed}
		}
		return lease.MembersRead{Items: ev.store.show(false, w.cfg.Bug), Consistent: ev.n == 1}
	case leasesEvent:
		if ev.store == nil {
			return lease.LeasesRead{Err: errFailed}
		}
		return lease.LeasesRead{Items: ev.store.show(true, w.cfg.Bug)}
	case listedEvent:
		var shards []lease.Shard
		for i := range w.cfg.Shards {
			if ev.n == 1 || len(w.cfg.Shards[i].Parents) == 0 {
				shards = append(shards, w.cfg.shown(i))
			}
		}
		return lease.Listed{Shards: shards}
	case writtenEvent:
		e := lease.Written{Key: ev.w.Item.Key, Outcome: lease.Outcome(ev.n)}
		if ev.item != nil {
			e.Item, e.Found = ev.item.Item, true
			if e.Key.Kind == lease.KindLease { // of its own item a worker knows how it is
				e.Item = w.cfg.Bug.misread(e.Item)
			}
		}
		if e.Outcome == lease.Unknown {
			e.Err = errFailed
		}
		return e
	case ackedEvent:
		return lease.Acked{Shard: w.cfg.Shards[ev.what].ID, Token: int64(ev.eventKey.item), Position: position(ev.n)}
	case drainedEvent:
		return lease.Drained{Shard: w.cfg.Shards[ev.what].ID, Token: int64(ev.eventKey.item), Position: position(ev.n)}
	case endedEvent:
		e := lease.Ended{Shard: w.cfg.Shards[ev.what].ID, Token: int64(ev.eventKey.item)}
		if !w.cfg.Shards[ev.what].Untold {
			for _, c := range w.cfg.Shards[ev.what].Children {
				e.Children = append(e.Children, w.cfg.shown(c))
			}
		}
		return e
	}
	return lease.Tick{}
}

var errFailed = errors.New("no answer")

// atEnd stands for SHARD_END where records are counted.
const atEnd = 255

// position is the place behind the n-th record.
func position(n int) lease.Position {
	switch n {
	case 0:
		return lease.TrimHorizon()
	case atEnd:
		return lease.ShardEnd()
	}
	p, err := lease.AfterSequence(strconv.Itoa(n), 0)
	if err != nil {
		panic(err) // no number is refused
	}
	return p
}

// count is the inverse of position.
func count(p lease.Position) uint8 {
	if p.IsShardEnd() {
		return atEnd
	}
	sequence, _, _ := p.Sequence()
	n, _ := strconv.Atoi(sequence)
	return uint8(n)
}
