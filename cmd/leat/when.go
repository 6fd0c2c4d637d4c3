package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/leatstream/leat"
	"github.com/leatstream/leat/lease"
)

// times is how --from and --to take a time, for help and errors.
const times = "now, -10m, -2d, 2026-01-02T15:04:05Z or Unix seconds"

// parseTime reads a time; now is what it is relative to.
func parseTime(s string, now time.Time) (time.Time, error) {
	if s == "now" {
		return now, nil
	}
	if s != "" && (s[0] == '-' || s[0] == '+') {
		d, err := parseDuration(s)
		return now.Add(d), err
	}
	if seconds, err := strconv.ParseInt(s, 10, 64); err == nil {
		return time.Unix(seconds, 0), nil
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return time.Time{}, fmt.Errorf("%q is not a time: %s", s, times)
	}
	return t, nil
}

// parseDuration is time.ParseDuration with days.
func parseDuration(s string) (time.Duration, error) {
	if number, ok := strings.CutSuffix(s, "d"); ok {
		if days, err := strconv.Atoi(number); err == nil && -36500 < days && days < 36500 {
			return time.Duration(days) * 24 * time.Hour, nil
		}
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		return 0, fmt.Errorf("%q is not a duration, such as -10m or -2d", s)
	}
	return d, nil
}

// parseFrom reads --from.
func parseFrom(s, shard string, now time.Time) (leat.Position, error) {
	switch {
	case s == "latest" || s == "now":
		// The service's now, not this machine's: their clocks may differ.
		return leat.Latest(), nil
	case s == "trim":
		return leat.TrimHorizon(), nil
	case strings.HasPrefix(s, "@"):
		if shard == "" {
			return leat.Position{}, fmt.Errorf("%s: a sequence number belongs to one shard: give --shard, too", s)
		}
		return parseSequence(s[1:])
	}
	t, err := parseTime(s, now)
	if err != nil {
		places := "latest, trim"
		if shard != "" {
			places += ", @SEQUENCE"
		}
		return leat.Position{}, fmt.Errorf("%q is none of %s, %s", s, places, times)
	}
	if t.After(now) {
		return leat.Position{}, fmt.Errorf("%s lies in the future", s)
	}
	return leat.AtTimestamp(t), nil
}

// parseSequence reads a place as leat prints it: a sequence number, then /SUB inside an aggregated record.
func parseSequence(s string) (leat.Position, error) {
	number, subText, given := strings.Cut(s, "/")
	var sub int64
	if given {
		var err error
		if sub, err = strconv.ParseInt(subText, 10, 64); err != nil {
			return leat.Position{}, fmt.Errorf("@%s: %q is not a sub-sequence number", s, subText)
		}
	}
	return lease.AfterSequence(number, sub)
}
