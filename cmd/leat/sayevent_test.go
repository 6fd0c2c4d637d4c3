package main

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/leatstream/leat"
)

// A shard that stands still is told, whatever the reason; a shard that comes and goes is not.
func TestSayEvent(t *testing.T) {
	for kind, told := range map[leat.EventKind]bool{
		leat.EventInvariantBroken: true, leat.EventOnHold: true, leat.EventStuck: true, leat.EventTrimmed: true,
		leat.EventTook: false, leat.EventReleased: false,
	} {
		var stderr bytes.Buffer
		p := program{stderr: &stderr}
		p.sayEvent(leat.Event{Kind: kind, Shard: "shardId-000000000000", Err: errors.New("why")})
		want := ""
		if told {
			want = fmt.Sprintf("leat: warning: %s, shardId-000000000000: why\n", kind)
		}
		if stderr.String() != want {
			t.Errorf("%s: %q, want %q", kind, stderr.String(), want)
		}
	}
}
