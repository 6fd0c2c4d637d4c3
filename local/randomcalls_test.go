package local_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

var (
	callSeed  = flag.Uint64("calls.seed", 1, "seed of the random calls")
	callCount = flag.Int("calls.n", 600, "how many random calls to make")
)

// TestLikeKinesisLocalAtRandom makes random calls to a server of this package and to npm's kinesis-local, right and
// wrong ones. The answers are the same, but for the differences that are listed.
func TestLikeKinesisLocalAtRandom(t *testing.T) {
	t.Parallel()
	t.Logf("-calls.seed=%d -calls.n=%d", *callSeed, *callCount)
	ours, peers := sides(t)
	caller := &randomCaller{Rand: rand.New(rand.NewPCG(*callSeed, 0)), side: ours, calls: map[string]members{}}
	made := map[string]int{}
	compare(t, ours, peers, func(yield func(call) bool) {
		for i := range *callCount {
			c := caller.next(i)
			made[c.op]++
			if !yield(c) || t.Failed() {
				t.Logf("that was call %d", i)
				return
			}
		}
	}, map[*difference]bool{})
	t.Logf("calls made: %v", made)
}

// randomCaller thinks calls up. It looks at what one side has answered so far: of the other it expects the same.
type randomCaller struct {
	*rand.Rand
	side    *side
	since   int                // the answers before this call are about streams that may be gone
	calls   map[string]members // the inputs, by the names of the answers
	records int
}

// members are a call's input.
type members map[string]any

func (r *randomCaller) next(i int) call {
	op, input := r.call()
	if op == "DeleteStream" {
		r.since = i
	}
	b, err := json.Marshal(input)
	if err != nil {
		panic(err) // of strings, numbers, lists and maps
	}
	c := call{save: fmt.Sprint(op, i), op: op, input: string(b)}
	r.calls[c.save] = input
	return c
}

func (r *randomCaller) call() (op string, input members) {
	stream := members{"StreamName": pick(r, "a", "a", "a", "b", "nope")}
	with := func(more members) members {
		for name, value := range more {
			stream[name] = value
		}
		return stream
	}
	switch n := r.IntN(100); {
	case n < 4:
		return "CreateStream", with(members{"ShardCount": pick(r, 1, 1, 2)})
	case n < 5:
		return "DeleteStream", stream
	case n < 22:
		return "PutRecord", with(r.record())
	case n < 28:
		var records []members
		for range 1 + r.IntN(4) {
			records = append(records, r.record())
		}
		return "PutRecords", with(members{"Records": records})
	case n < 46:
		return "GetShardIterator", with(r.position())
	case n < 64:
		input := members{"ShardIterator": r.saved("GetShardIterator", "ShardIterator")}
		if r.IntN(2) == 0 {
			input["ShardIterator"] = r.saved("GetRecords", "NextShardIterator")
		}
		if r.IntN(2) == 0 {
			input["Limit"] = pick(r, 1, 2, 10000, 0)
		}
		return "GetRecords", input
	case n < 69:
		return "SplitShard", with(members{"ShardToSplit": r.shard(), "NewStartingHashKey": r.hashKey()})
	case n < 73:
		return "MergeShards", with(members{"ShardToMerge": r.shard(), "AdjacentShardToMerge": r.shard()})
	case n < 77:
		return pick(r, "Increase", "Decrease") + "StreamRetentionPeriod", with(members{"RetentionPeriodHours": pick(r, 23, 24, 48, 72, 8760, 9000)})
	case n < 80:
		return "AddTagsToStream", with(members{"Tags": members{pick(r, "x", "y", ""): pick(r, "1", "2", "")}})
	case n < 82:
		return "RemoveTagsFromStream", with(members{"TagKeys": []string{pick(r, "x", "y", "z")}})
	case n < 85:
		return "ListTagsForStream", stream
	case n < 88:
		return "ListStreams", members{"Limit": pick(r, 0, 1, 2, 10)}
	case n < 89:
		return "DescribeLimits", members{}
	case n < 91:
		return "DescribeStreamSummary", stream
	case n < 94:
		return "DescribeStream", with(members{"Limit": pick(r, 1, 2, 3, 100)})
	case n < 97:
		return "ListShards", with(members{"MaxResults": pick(r, 0, 1, 2, 1000)})
	default:
		return "ListShards", with(members{"ShardFilter": r.filter()})
	}
}

func pick[T any](r *randomCaller, from ...T) T { return from[r.IntN(len(from))] }

// shard is rather one with a low number: those exist.
func (r *randomCaller) shard() string { return fmt.Sprintf("shardId-%012d", r.IntN(1+r.IntN(8))) }

// hashKey is a key that is neither the first nor the last of a shard, nor beside one: there the two differ.
func (r *randomCaller) hashKey() string {
	return fmt.Sprint(10_000+r.Uint64()>>1) + pick(r, "", fmt.Sprint(10_000_000_000_000_000_000+r.Uint64()>>1))
}

func (r *randomCaller) record() members {
	record := members{"PartitionKey": pick(r, "k", "key", "another key", fmt.Sprint(r.IntN(1000)), ""), "Data": fmt.Appendf(nil, "record %d", r.records)}
	r.records++ // no two are alike
	if r.IntN(3) == 0 {
		record["ExplicitHashKey"] = r.hashKey()
	}
	return record
}

func (r *randomCaller) position() members {
	position := members{"ShardId": r.shard(), "ShardIteratorType": pick(r, "TRIM_HORIZON", "LATEST", "AT_TIMESTAMP", "AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER", "NEVER")}
	switch position["ShardIteratorType"] {
	case "AT_TIMESTAMP":
		position["Timestamp"] = pick(r, "$now-1h", "$now+1h")
	case "AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER":
		number := r.saved("PutRecord", "SequenceNumber")
		position["StartingSequenceNumber"] = number
		if put, _, ok := strings.Cut(number, "."); ok {
			position["StreamName"] = r.calls[put[1:]]["StreamName"]
			if r.IntN(4) > 0 { // the shard of that record, mostly
				position["ShardId"] = put + ".ShardId"
			}
		}
	}
	return position
}

func (r *randomCaller) filter() members {
	filter := members{"Type": pick(r, "AT_LATEST", "FROM_TRIM_HORIZON", "AFTER_SHARD_ID")}
	if filter["Type"] == "AFTER_SHARD_ID" {
		filter["ShardId"] = r.shard()
	}
	return filter
}

// saved is a reference to a member of one of the answers of an operation, or nonsense if there is none.
func (r *randomCaller) saved(op, member string) string {
	var from []string
	for i := r.since; i < *callCount; i++ {
		name := fmt.Sprint(op, i)
		if answer, _ := r.side.saved[name].(map[string]any); answer[member] != nil {
			from = append(from, "$"+name+"."+member)
		}
	}
	if len(from) == 0 {
		return "nonsense"
	}
	// Late ones are about what is there now.
	return from[max(r.IntN(len(from)), r.IntN(len(from)))]
}
