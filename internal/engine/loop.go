package engine

import (
	"context"
	"sync"
	"time"

	"github.com/leatstream/leat/lease"
)

// loop drives one member: events in, actions out.
type loop struct {
	engine *Engine
	ctx    context.Context // done when the loop is over
	member *lease.Member
	events chan lease.Event
	over   chan struct{} // closed: nobody listens to events any more
	tasks  sync.WaitGroup

	pushed lease.Time // when pushAcks was called
	closed bool
	err    error
}

// run steps the member until it is done.
func (l *loop) run(stop *stopping) error {
	e := l.engine
	timer := time.NewTimer(0) // the first Tick joins
	defer timer.Stop()
	defer e.proof.set(0)
	var deadline <-chan time.Time // after which a stop gives up on the store
	begin := func(err error) {
		stop.asked, stop.begun, stop.err = nil, true, err
		l.step(lease.Stop{})
		timer := time.NewTimer(e.cfg.DrainTimeout + inertAfter + e.cfg.FailoverTime)
		deadline = timer.C
	}
	for !l.closed {
		select {
		case ev := <-l.events:
			l.step(ev)
		case <-timer.C:
			l.pushAcks()
			l.step(lease.Tick{})
		case <-stop.asked:
			begin(nil)
		case err := <-e.fail:
			if !stop.begun {
				begin(err)
			}
		case <-deadline:
			return ErrNotReleased
		}
		due := min(l.member.Wake(), l.pushed.Add(e.cfg.CheckpointInterval))
		timer.Reset(max(0, due.Sub(e.cfg.Clock())))
	}
	return l.err
}

// pushAcks tells the member how far the shards have come, at least once a checkpoint interval.
func (l *loop) pushAcks() {
	l.pushed = l.engine.cfg.Clock()
	for _, g := range l.engine.open() {
		if p := g.lane.Watermark(); p != g.told {
			g.told = p
			l.step(lease.Acked{Shard: g.shard, Token: g.token, Position: p})
		}
	}
}

// step tells the member an event and begins to carry out what it wants. Nothing here blocks.
func (l *loop) step(ev lease.Event) {
	e := l.engine
	actions := l.member.Step(e.cfg.Clock(), ev)
	e.proof.set(l.member.Deadline())
	for _, action := range actions {
		switch a := action.(type) {
		case lease.ReadMembers:
			l.tasks.Go(func() { l.post(e.readMembers(l.ctx, a)) })
		case lease.ReadLeases:
			l.tasks.Go(func() { l.post(e.readLeases(l.ctx)) })
		case lease.ListShards:
			l.tasks.Go(func() { l.post(e.listShards(l.ctx, a)) })
		case lease.WriteItem:
			l.tasks.Go(func() { l.post(e.write(l.ctx, a.Write)) })
		case lease.Open:
			l.openGrant(a)
		case lease.Drain:
			if g := e.grant(a.Shard, a.Token); g != nil {
				l.tasks.Go(func() { l.drain(g) })
			}
		case lease.Close:
			if g := e.grant(a.Shard, a.Token); g != nil {
				g.close(a.Reason)
			}
		case lease.Report:
			e.note(a)
			e.say(Event{Kind: a.Kind, Worker: a.Worker, Shard: a.Shard, Position: a.Position, Err: a.Err})
		case lease.Done:
			l.closed, l.err = true, a.Err
		}
	}
}

// post tells the loop an event, unless it is over. Events of one loop never reach another: the answer
// to an old member's write would be taken for that to a new one's.
func (l *loop) post(ev lease.Event) {
	select {
	case l.events <- ev:
	case <-l.over:
	}
}
