package dispatch

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leatstream/leat/internal/record"
)

// Poison is not tried again; a batch with it is halved at once.
func TestLanePoison(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var given []int
		cfg := LaneConfig{Batch: Batch{Records: 8}, GiveUp: func(_ context.Context, r *record.Record, cause error) error {
			given = append(given, number(r))
			return nil
		}}
		c, b := batchBench(t, cfg, func(records []record.Record) error {
			if has(records, 8) {
				return &PoisonError{Err: errors.New("no")}
			}
			return nil
		})
		c.want(t, "0s 1,2,3,4,5,6,7,8", "0s 1,2,3,4", "0s 5,6,7,8", "0s 5,6", "0s 7,8", "0s 7", "0s 8")
		if !slices.Equal(given, []int{8}) || len(b.told()) != 0 {
			t.Errorf("given up %v, told %v", given, b.told())
		}
	})
}

// Nothing is acknowledged before its dead letter is durable, and the handler is not called again meanwhile.
func TestLaneWaitsForTheDeadLetter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var open atomic.Bool
		handled := 0
		b := benchOf(LaneConfig{
			Retry: Retry{Attempts: 1},
			Handle: func(_ context.Context, records []record.Record) error {
				if handled++; number(&records[0]) == 1 {
					return errors.New("no")
				}
				return nil
			},
			GiveUp: func(context.Context, *record.Record, error) error {
				if !open.Load() {
					return errors.New("the disk is full")
				}
				return nil
			},
		})
		b.push(1, 2)
		pass(time.Hour)
		if s := b.State(); b.Watermark() != at(0) || handled != 1 || s.GivenUp != 0 || s.Err == nil || !strings.Contains(s.Err.Error(), "the disk is full") {
			t.Errorf("watermark %v after %d calls, %+v", b.Watermark(), handled, s)
		}
		if told := b.told(); len(told) != 1 {
			t.Errorf("told %v", told)
		}
		open.Store(true)
		pass(time.Minute)
		if s := b.State(); b.Watermark() != at(2) || s.GivenUp != 1 || s.Handled != 2 || len(b.told()) != 2 {
			t.Errorf("watermark %v, %+v, told %v", b.Watermark(), s, b.told())
		}
		b.Drain()
		<-b.Done()
		b.Free()
	})
}

// MaxAge counts from the record's arrival.
func TestLaneGivesOldRecordsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := map[int]int{}
		b := benchOf(LaneConfig{
			Retry: Retry{MaxAge: time.Minute},
			Handle: func(_ context.Context, records []record.Record) error {
				tries[number(&records[0])]++
				return errors.New("no")
			},
			GiveUp: func(context.Context, *record.Record, error) error { return nil },
		})
		records := numbered(1, 2)
		records[0].ArrivalTime, records[1].ArrivalTime = time.Now().Add(-time.Hour), time.Now()
		b.Push(records, nil, true)
		<-b.Done()
		b.Free()
		if tries[1] != 1 || tries[2] < 5 {
			t.Errorf("tries %v", tries)
		}
	})
}
