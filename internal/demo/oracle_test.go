package demo

import (
	"fmt"
	"testing"
	"time"

	"github.com/leatstream/leat/lease"
)

// script writes a story in a few words: "w1:a1" is worker w1 handling record 1 of key a. Record n of
// key a has the sequence number n, of key b 100+n.
func script(t *testing.T, words ...string) []handled {
	t.Helper()
	var calls []handled
	for _, word := range words {
		var worker, key string
		var n int
		if _, err := fmt.Sscanf(word, "%2s:%1s%d", &worker, &key, &n); err != nil {
			t.Fatalf("%q: %v", word, err)
		}
		calls = append(calls, handled{worker: worker, shard: "s", sequence: sequenceOf(key, n), key: key, n: n})
	}
	return calls
}

func sequenceOf(key string, n int) string {
	if key == "b" {
		n += 100
	}
	return fmt.Sprint(n)
}

func putsOf(key string, n int) []put {
	var puts []put
	for i := 1; i <= n; i++ {
		puts = append(puts, put{key: key, n: i, sequence: sequenceOf(key, i)})
	}
	return puts
}

func TestJudge(t *testing.T) {
	after := func(sequence string) lease.Position {
		p, err := lease.AfterSequence(sequence, 0)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	killed := []death{{worker: "w1", checkpoints: map[string]lease.Position{"s": after("1")}}}
	tests := []struct {
		name   string
		calls  []string
		deaths []death
		want   verdict
	}{
		{"all in order", []string{"w1:a1", "w1:a2", "w2:a3"}, nil, verdict{Records: 3}},
		{"one never handled", []string{"w1:a1", "w1:a2"}, nil, verdict{Records: 3, Lost: 1}},
		{"one left out, later ones handled", []string{"w1:a1", "w1:a3"}, nil, verdict{Records: 3, Lost: 1, OutOfOrder: 1}},
		{"two swapped", []string{"w1:a2", "w1:a1", "w1:a3"}, nil, verdict{Records: 3, OutOfOrder: 3}},
		{"put by nobody", []string{"w1:a1", "w1:a2", "w1:a3", "w1:a4"}, nil, verdict{Records: 3, OutOfOrder: 1}},
		{"a replay after a kill, from the checkpoint", []string{"w1:a1", "w1:a2", "w2:a2", "w2:a3"}, killed,
			verdict{Records: 3, Repeated: 1, Bound: 1}},
		{"a repeat before the checkpoint", []string{"w1:a1", "w1:a2", "w2:a1", "w2:a2", "w2:a3"}, killed,
			verdict{Records: 3, Repeated: 2, Unexplained: 1, Bound: 1}},
		{"a repeat that no kill explains", []string{"w1:a1", "w1:a2", "w2:a2", "w2:a3"}, nil,
			verdict{Records: 3, Repeated: 1, Unexplained: 1, OutOfOrder: 1}},
		{"the kill repeats, and then a clean stop does", []string{"w1:a1", "w1:a2", "w2:a2", "w2:a3", "w3:a3"}, killed,
			verdict{Records: 3, Repeated: 2, Unexplained: 1, OutOfOrder: 1, Bound: 1}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := judge(putsOf("a", 3), script(t, test.calls...), test.deaths)
			if got != test.want {
				t.Errorf("verdict %+v, want %+v", got, test.want)
			}
			if clean := test.want.Lost+test.want.OutOfOrder+test.want.Unexplained == 0; got.ok() != clean {
				t.Errorf("ok is %v", got.ok())
			}
		})
	}
}

// Keys have nothing to do with each other.
func TestJudgeKeysApart(t *testing.T) {
	puts := append(putsOf("a", 2), putsOf("b", 2)...)
	if v := judge(puts, script(t, "w1:b1", "w1:a1", "w2:a2", "w1:b2"), nil); !v.ok() || v.Repeated != 0 {
		t.Errorf("verdict %+v", v)
	}
}

func TestHandlersLogLine(t *testing.T) {
	want := handled{worker: "w1", at: time.Unix(0, 12345), shard: "shardId-000000000000", sequence: "49", key: "ak", n: 7}
	got, err := parseLine(want.line())
	if err != nil || got != want {
		t.Errorf("read back %+v, %v; want %+v", got, err, want)
	}
	if _, err := parseLine("w1 12"); err == nil {
		t.Error("half a line was read without an error")
	}
}

// The feed never ends, and numbers each key from 1.
func TestFeed(t *testing.T) {
	f, err := newFeed(1)
	if err != nil {
		t.Fatal(err)
	}
	last := map[string]int{}
	for range 2*len(f.events) + 1 {
		n, err := f.record()
		if err != nil {
			t.Fatal(err)
		}
		if n.N != last[n.Key]+1 {
			t.Fatalf("key %s: %d after %d", n.Key, n.N, last[n.Key])
		}
		last[n.Key] = n.N
	}
	if len(last) != len(f.keys()) {
		t.Errorf("%d keys were seen, the feed has %d", len(last), len(f.keys()))
	}
}
