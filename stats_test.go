package leat

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/leatstream/leat/internal/engine"
	"github.com/leatstream/leat/local"
)

func TestStatsAndHealthBeforeDuringAndAfterRun(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRiver(t, local.Config{}, 2)
		r.fill(10, 5, 0)
		release := make(chan struct{})
		w := r.prepare("anna", func(_ context.Context, record *Record) error {
			if record.Shard == "shardId-000000000000" {
				<-release
			}
			return nil
		})
		before := w.Stats()
		if before.Group != "billing" || before.Stream != riverName || before.Worker != "" || before.Suspended || len(before.Shards) != 0 {
			t.Errorf("before: %+v", before)
		}
		if err := w.Health(); !errors.Is(err, engine.ErrNotMember) {
			t.Errorf("health before: %v", err)
		}
		r.launch(w)
		elapse(5 * time.Second)
		s := w.Stats()
		if err := w.Health(); err != nil || !strings.HasPrefix(s.Worker, "anna@") || s.Suspended || s.StoreError != nil || s.Buffered <= 0 || s.BufferedPeak < s.Buffered {
			t.Errorf("health %v, %+v", err, s)
		}
		if len(s.Shards) != 2 {
			t.Fatalf("%d shards", len(s.Shards))
		}
		blocked, flowing := s.Shards[0], s.Shards[1]
		if blocked.Shard != "shardId-000000000000" || blocked.Queued == 0 || blocked.Handled != 0 || blocked.Attempt != 1 ||
			!strings.HasPrefix(blocked.Why, "handler running for ") || blocked.Read.IsZero() || blocked.Token == 0 {
			t.Errorf("blocked: %+v", blocked)
		}
		if flowing.Queued != 0 || flowing.Handled == 0 || flowing.Attempt != 0 || flowing.Position == TrimHorizon() ||
			!strings.HasPrefix(flowing.Why, "waiting for the poll interval") {
			t.Errorf("flowing: %+v", flowing)
		}
		if sum := int(flowing.Handled) + blocked.Queued; sum != 50 {
			t.Errorf("%d handled and queued, want 50", sum)
		}
		close(release)
		elapse(time.Second)
		r.must(w.stop())
		after := w.Stats()
		if after.Suspended || len(after.Shards) != 0 || after.Buffered != 0 || after.BufferedPeak != w.Stats().BufferedPeak {
			t.Errorf("after: %+v", after)
		}
		if err := w.Health(); !errors.Is(err, engine.ErrNotMember) {
			t.Errorf("health after: %v", err)
		}
		r.judge(0)
	})
}

// A worker that cannot join says why.
func TestHealthWithoutAStore(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRiver(t, local.Config{}, 1)
		w := r.prepare("anna", nil)
		w.line.set(true)
		r.launch(w)
		elapse(10 * time.Second)
		if err := w.Health(); !errors.Is(err, engine.ErrNotMember) || !strings.Contains(err.Error(), "the line is cut") {
			t.Errorf("health %v", err)
		}
		if s := w.Stats(); s.Suspended || s.StoreError == nil {
			t.Errorf("%+v", s)
		}
		w.line.set(false)
		elapse(5 * time.Second)
		if err := w.Health(); err != nil || w.Stats().StoreError != nil {
			t.Errorf("health %v, store %v", err, w.Stats().StoreError)
		}
		r.must(w.stop())
	})
}
