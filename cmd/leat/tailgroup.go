package main

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/leatstream/leat"
	"github.com/leatstream/leat/store/file"
)

// errProgramGone says that the program that gets a group's records has ended.
var errProgramGone = errors.New("the program behind stdout has ended: what it had not dealt with comes again with the next start")

// groupConfig reads the flags of a member of a group.
func (f *tailFlags) groupConfig(stream string, now time.Time) (cfg leat.Config, write writer, err error) {
	if strings.HasPrefix(f.start, "@") {
		return cfg, nil, usagef("--start: a group starts at trim, latest or a time, not at a sequence number")
	}
	cfg = leat.Config{Group: f.group, Stream: stream, Worker: f.worker}
	if f.store != "" {
		cfg.Store = file.New(f.store)
	}
	if cfg.Start, err = parseFrom(f.start, "", now); err != nil {
		return cfg, nil, usagef("--start: %w", err)
	}
	if write, err = f.writer(); err != nil {
		return cfg, nil, err
	}
	if err := f.resolve(); err != nil {
		return cfg, nil, err
	}
	cfg.Endpoint = f.endpoint
	// As much as one answer of the service holds: a batch is written in pieces anyway.
	cfg.Batch = &leat.Batch{MaxRecords: 10_000, MaxBytes: 10 << 20, Handler: leat.BatchHandlerFunc(nil)}
	return cfg, write, faults(cfg.Validate())
}

// runGroup hands the stream's records out as a member of a group.
func (p *program) runGroup(parent context.Context, stream string, flags *tailFlags) error {
	cfg, write, err := flags.groupConfig(stream, time.Now())
	if err != nil {
		return err
	}
	if cfg.AWS, err = flags.aws(parent); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	out := newHandout(p.stdout)
	watchReader(ctx, p.stdout.w, func(err error) {
		out.readerGone()
		cancel(err)
	})
	cfg.Batch.Handler = leat.BatchHandlerFunc(func(ctx context.Context, records []leat.Record) error {
		var lines []byte
		ends := make([]int, len(records))
		for i := range records {
			lines = write(lines, &records[i])
			ends[i] = len(lines)
		}
		err := out.give(ctx, lines, ends)
		if err == nil || errors.Is(err, leat.ErrLeaseLost) || errors.Is(err, leat.ErrDraining) {
			return err
		}
		return leat.Stop(err)
	})
	cfg.Logger = slog.New(slog.DiscardHandler)
	cfg.Events = p.sayEvent
	err = leat.Run(ctx, cfg)
	switch {
	case interrupted(parent) != nil && (err == nil || errors.Is(err, errReaderGone)):
		return interrupted(parent)
	case errors.Is(err, errReaderGone), err == nil && errors.Is(context.Cause(ctx), errReaderGone):
		return errProgramGone
	}
	return err
}

// sayEvent tells what somebody should look at.
func (p *program) sayEvent(ev leat.Event) {
	switch ev.Kind {
	case leat.EventFenced, leat.EventLost, leat.EventRetrying, leat.EventStuck, leat.EventTrimmed,
		leat.EventOnHold, leat.EventHoldEnded, leat.EventInvariantBroken, leat.EventStoreTrouble, leat.EventStoreBack, leat.EventUnreadable:
	default:
		return
	}
	text := string(ev.Kind)
	if ev.Shard != "" {
		text += ", " + ev.Shard
	}
	if ev.Err != nil {
		text += ": " + strings.TrimPrefix(ev.Err.Error(), "leat: ")
	}
	p.say("warning: %s", text)
}
