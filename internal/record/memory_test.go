package record

import (
	"bytes"
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// answer is a Memory, and what its records must be until they are settled.
type answer struct {
	*Memory
	records []Record
	want    [][]byte
	open    []int // not settled
}

func drawAnswer(rt *rapid.T, mark byte) *answer {
	a := &answer{Memory: new(Memory)}
	windows := rapid.SliceOfN(rapid.IntRange(1, 20), 1, 6).Draw(rt, "windows")
	size := rapid.OneOf(rapid.IntRange(0, 300), rapid.IntRange(0, 300), rapid.IntRange(0, 9000), rapid.IntRange(60<<10, 70<<10))
	a.Expect(rapid.IntRange(1, 300).Draw(rt, "expected"))
	template := &Record{Stream: "orders", Shard: "one", Token: 7}
	for w, n := range windows {
		sizes := rapid.SliceOfN(size, n, n).Draw(rt, "sizes")
		rest := 0
		for _, size := range sizes {
			rest += size
		}
		for _, size := range sizes {
			payload := bytes.Repeat([]byte{mark + byte(len(a.want))}, size)
			a.want = append(a.want, payload)
			a.open = append(a.open, len(a.open))
			var r *Record
			if size > 60<<10 && size%2 == 0 {
				r = a.AddKept(template, make([]byte, size))
			} else {
				r = a.Add(template, size, rest, w < len(windows)-1)
			}
			rest -= size
			if r.Aggregated || r.SequenceNumber != "" {
				rt.Fatalf("a new record has something of an old one: %+v", r)
			}
			copy(r.Data, payload)
			r.SequenceNumber, r.Aggregated = fmt.Sprint(len(a.want)), true
		}
	}
	a.records = a.Memory.Records()
	return a
}

func (a *answer) check(rt *rapid.T) {
	for _, i := range a.open {
		r := &a.records[i]
		if !bytes.Equal(r.Data, a.want[i]) || cap(r.Data) != len(r.Data) || r.SequenceNumber != fmt.Sprint(i+1) || r.Stream != "orders" || r.Token != 7 || r.Attempt != 0 {
			rt.Fatalf("record %d of %d is not what it was: %d bytes of %d", i, len(a.records), len(r.Data), len(a.want[i]))
		}
	}
}

// settle settles a run of records, beginning with one that is not.
func (a *answer) settle(rt *rapid.T) {
	at := rapid.IntRange(0, len(a.open)-1).Draw(rt, "at")
	end := at + 1
	for most := rapid.IntRange(1, 100).Draw(rt, "most"); end < len(a.open) && end-at < most && a.open[end] == a.open[end-1]+1; end++ {
	}
	a.Settle(a.open[at], a.open[end-1]+1)
	a.open = append(a.open[:at:at], a.open[end:]...)
}

// TestMemory: whatever is settled in whatever order, what is not settled stays as it was, also when other answers are read into
// what was.
func TestMemory(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var answers []*answer
		for i := range rapid.IntRange(2, 4).Draw(rt, "answers") {
			answers = append(answers, drawAnswer(rt, byte(i*50)))
			for range rapid.IntRange(0, 20).Draw(rt, "steps") {
				a := answers[rapid.IntRange(0, len(answers)-1).Draw(rt, "which")]
				if len(a.open) > 0 {
					a.settle(rt)
				}
			}
			for _, a := range answers {
				a.check(rt)
			}
		}
	})
}

// TestMemoryIsUsedAgain: reading answers over and over costs next to no fresh memory.
func TestMemoryIsUsedAgain(t *testing.T) {
	if poisoned {
		t.Skip("the race detector makes pools forget")
	}
	const n = 20_000
	allocations := testing.AllocsPerRun(50, func() {
		m := new(Memory)
		m.Expect(n)
		for range n {
			r := m.Add(new(Record), 128, 128, true)
			if r.Aggregated {
				t.Fatal("a new record has something of an old one")
			}
			r.Aggregated = true
		}
		m.Records()
		for i := range n {
			m.Settle(i, i+1)
		}
	})
	if allocations > 20 { // the Memory and its list of chunks; now and then what the garbage collector has taken
		t.Errorf("%v allocations for an answer of %d records", allocations, n)
	}
}

// TestMemoryPinsItsSize: the last records of an answer, or the only ones, are in memory of their own length.
func TestMemoryPinsItsSize(t *testing.T) {
	m := new(Memory)
	m.Expect(2)
	for rest := 300; rest > 0; rest -= 150 {
		m.Add(new(Record), 150, rest, false)
	}
	if m.chunks[0].bytes != nil || len(m.chunks) != 1 || len(m.free) != 0 {
		t.Errorf("%d chunks, %d bytes left over", len(m.chunks), len(m.free))
	}
	var none *Memory
	none.Settle(0, 1)
	if none.Len() != 0 {
		t.Error("nothing has records")
	}
}
