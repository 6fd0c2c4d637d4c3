package main

import (
	"strings"
	"testing"
	"time"
)

func TestParseTime(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	tests := []struct {
		text string
		want time.Time // zero: an error
	}{
		{"now", now},
		{"-10m", now.Add(-10 * time.Minute)},
		{"-1h30m", now.Add(-90 * time.Minute)},
		{"-2d", now.Add(-48 * time.Hour)},
		{"+30s", now.Add(30 * time.Second)},
		{"1767366245", now},
		{"2026-01-02T15:04:05Z", now},
		{"2026-01-02T17:04:05.25+02:00", now.Add(250 * time.Millisecond)},
		{"", time.Time{}}, {"-", time.Time{}}, {"-x", time.Time{}}, {"10m", time.Time{}}, {"-1.5d", time.Time{}},
		{"-99999999d", time.Time{}}, {"2026-01-02", time.Time{}}, {"latest", time.Time{}},
	}
	for _, test := range tests {
		got, err := parseTime(test.text, now)
		if test.want.IsZero() != (err != nil) || err == nil && !got.Equal(test.want) {
			t.Errorf("%q: %v, %v; want %v", test.text, got, err, test.want)
		}
	}
}

func TestParseFrom(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	tests := []struct{ text, shard, want string }{
		{"latest", "", "LATEST"},
		{"now", "", "LATEST"},
		{"trim", "", "TRIM_HORIZON"},
		{"-1m", "", "AT_TIMESTAMP 2026-01-02T15:03:05.000Z"},
		{"@123", "shardId-1", "123"},
		{"@123/4", "shardId-1", "123/4"},
		{"@123", "", "error: give --shard"},
		{"@", "shardId-1", "error: not a decimal number"},
		{"@1/x", "shardId-1", "error: sub-sequence number"},
		{"+1m", "", "error: future"},
		{"soon", "", "error: none of latest, trim"},
	}
	for _, test := range tests {
		got, err := parseFrom(test.text, test.shard, now)
		want, fails := strings.CutPrefix(test.want, "error: ")
		switch {
		case fails != (err != nil):
			t.Errorf("%q: %v, %v; want %q", test.text, got, err, test.want)
		case fails && !strings.Contains(err.Error(), want):
			t.Errorf("%q: %v does not say %q", test.text, err, want)
		case !fails && got.String() != want:
			t.Errorf("%q: %v, want %s", test.text, got, want)
		}
	}
}
