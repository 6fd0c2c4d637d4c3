package dispatch

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leatstream/leat/internal/record"
)

// A deferred ack keeps the order, the head and the drain waiting, and is inert after the end of the epoch.
func TestLaneDefer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var acks []func(error)
		var contexts []context.Context
		b := benchOf(LaneConfig{Timeout: time.Hour, Handle: func(ctx context.Context, _ []record.Record) error {
			acks, contexts = append(acks, Defer(ctx)), append(contexts, ctx)
			return nil
		}})
		b.push(1, 3)
		pass(time.Minute)
		if s := b.State(); len(acks) != 1 || !s.Deferred || s.Running.IsZero() || contexts[0].Err() != nil {
			t.Fatalf("%d calls, %+v, context %v", len(acks), s, contexts[0].Err())
		}
		acks[0](nil)
		pass(time.Second)
		if len(acks) != 2 || b.Watermark() != at(1) || contexts[0].Err() == nil {
			t.Fatalf("%d calls, watermark %v, context %v", len(acks), b.Watermark(), contexts[0].Err())
		}
		if Defer(contexts[0]) != nil || Defer(t.Context()) != nil {
			t.Error("Defer after the end, or of another context, gives an ack")
		}
		acks[1](errors.New("no"))
		pass(time.Second)
		if len(acks) != 3 || b.Watermark() != at(1) {
			t.Fatalf("%d calls, watermark %v", len(acks), b.Watermark())
		}
		acks[1](nil) // was settled
		b.Drain()
		synctest.Wait()
		select {
		case <-b.Done():
			t.Error("drained while an ack is to come")
		default:
		}
		acks[2](nil)
		<-b.Done()
		if b.Watermark() != at(2) || len(acks) != 3 {
			t.Errorf("watermark %v, %d calls", b.Watermark(), len(acks))
		}
		b.Free()
	})
	synctest.Test(t, func(t *testing.T) {
		var ack func(error)
		b := benchOf(LaneConfig{Handle: func(ctx context.Context, _ []record.Record) error { ack = Defer(ctx); return nil }})
		b.push(1, 2)
		synctest.Wait()
		b.Cancel(ErrLeaseLost)
		b.Abandon()
		<-b.Done() // though the ack never came
		ack(nil)
		if b.Watermark() != at(0) {
			t.Errorf("watermark %v", b.Watermark())
		}
		b.Free()
	})
}

// Deferred records hold no worker: MaxInFlight is the bound.
func TestLaneDeferHoldsNoWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var acks []func(error)
		b := benchOf(LaneConfig{PerKey: true, AtOnce: 1, MaxInFlight: 5, Handle: func(ctx context.Context, _ []record.Record) error {
			acks = append(acks, Defer(ctx))
			return nil
		}})
		b.Push(keyed(1, 8, 100), nil, true)
		synctest.Wait()
		if len(acks) != 5 {
			t.Fatalf("%d calls", len(acks))
		}
		for _, i := range []int{4, 2, 0, 1, 3} {
			acks[i](nil)
			synctest.Wait()
		}
		for i := 5; i < 8; i++ {
			acks[i](nil)
		}
		<-b.Done()
		if b.ended != 1 {
			t.Error("not ended")
		}
		b.Free()
	})
}
