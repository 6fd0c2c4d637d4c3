package fetch

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"

	"github.com/leatstream/leat/internal/record"
	"github.com/leatstream/leat/lease"
	"github.com/leatstream/leat/local"
)

// The tests below run the reader with the real SDK against the embedded server, in virtual time.

func TestReaderTellsEveryRecordInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, local.Config{}, 1)
		want := w.put(0, 50, 100)
		began := time.Now()
		got := w.read(NewReader(w.client, w.config(lease.TrimHorizon())), count(50))
		if !slices.Equal(w.sequences(got), want) {
			t.Fatalf("got %v\nwant %v", w.sequences(got), want)
		}
		r := got[3]
		if r.Stream != streamName || r.Shard != firstShard || r.PartitionKey != "key-3" || len(r.Data) != 100 ||
			r.Token != 7 || r.Attempt != 0 || r.ArrivalTime.IsZero() || r.ArrivalTime.After(began) {
			t.Errorf("record: %+v", r)
		}
		if held := w.credit.balance(); held != 0 {
			t.Errorf("%d bytes are still held", held)
		}
	})
}

func TestReaderPollsAtTheTip(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, local.Config{}, 1)
		api := &hooked{API: w.client}
		r := NewReader(api, w.config(lease.TrimHorizon()))
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second+time.Millisecond)
		defer cancel()
		b, err := r.Next(ctx) // the first answer tells that the reader is at the tip
		if err != nil || len(b.Records) != 0 || b.Behind != 0 {
			t.Fatalf("%+v, %v", b, err)
		}
		if _, err := r.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		calls := api.callTimes()
		for i := 1; i < len(calls); i++ {
			want := DefaultPollInterval
			if i == 1 {
				want = 700 * time.Millisecond // from the quota's 200 ms on, and the middle for every random number
			}
			if d := calls[i].Sub(calls[i-1]); d != want {
				t.Errorf("call %d came %v after the one before", i, d)
			}
		}
		if len(calls) != 11 {
			t.Errorf("%d calls in 10 s", len(calls))
		}
		if s := r.Status(); s != "waiting for the poll interval" {
			t.Errorf("status %q", s)
		}
	})
}

// TestReadersPollApart: shards that were opened at one moment, or have caught up at one moment, are polled all over the
// interval from then on.
func TestReadersPollApart(t *testing.T) {
	const readers, intervals, parts = 1000, 8, 10
	for _, test := range []struct {
		name     string
		behind   int64 // for so many answers
		interval time.Duration
	}{
		{"opened together", 0, time.Second},
		{"caught up together", 3, time.Second},
		{"as often as the quota allows", 0, 200 * time.Millisecond},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), intervals*test.interval-1)
				defer cancel()
				began := time.Now()
				var calls [intervals][parts]atomic.Int64
				for i := range readers {
					n := int64(0)
					api := &hooked{
						iterator: func(*kinesis.GetShardIteratorInput) (*kinesis.GetShardIteratorOutput, error) {
							return &kinesis.GetShardIteratorOutput{ShardIterator: aws.String("first")}, nil
						},
						records: func(*kinesis.GetRecordsInput) (*kinesis.GetRecordsOutput, error) {
							n++
							at := time.Since(began) * parts / test.interval
							calls[at/parts][at%parts].Add(1)
							return &kinesis.GetRecordsOutput{NextShardIterator: aws.String("next"), MillisBehindLatest: aws.Int64(max(0, test.behind-n))}, nil
						},
					}
					random := rand.New(rand.NewPCG(1, uint64(i)))
					r := NewReader(api, Config{Stream: Stream{Name: streamName}, Shard: firstShard, PollInterval: test.interval, Random: random.Float64})
					go func() {
						for ctx.Err() == nil {
							r.Next(ctx)
						}
					}()
				}
				<-ctx.Done()
				synctest.Wait()
				// A tenth has 100 by chance, give or take 10; 150 would be five times that.
				for i := 3; i < intervals; i++ {
					for part := range parts {
						if n := calls[i][part].Load(); n > readers/parts*3/2 {
							t.Errorf("%d calls in part %d of interval %d", n, part, i)
						}
					}
				}
			})
		})
	}
}

// TestF7ReaderStaysWithinTheShardsQuota: a reader that is behind asks at once, but no faster than the service
// allows, which is checked by the server: none of its answers is a refusal. (F7 of reliability.md)
func TestF7ReaderStaysWithinTheShardsQuota(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, local.Config{}, 1)
		for range 30 { // 30 MiB, a record a second
			w.put(0, 1, 1<<20-10)
			time.Sleep(time.Second)
		}
		var refused int
		api := &hooked{API: countErrors{w.client, &refused}}
		began := time.Now()
		w.read(NewReader(api, w.config(lease.TrimHorizon())), count(30))
		if refused != 0 {
			t.Errorf("the service refused %d calls", refused)
		}
		// The last 10 MiB are told before they are paid for.
		if took := time.Since(began); took < 10*time.Second || took > 11*time.Second {
			t.Errorf("30 MiB took %v; 2 MiB a second allow 10 s", took)
		}
	})
}

type countErrors struct {
	API
	n *int
}

func (c countErrors) GetRecords(ctx context.Context, in *kinesis.GetRecordsInput, o ...func(*kinesis.Options)) (*kinesis.GetRecordsOutput, error) {
	out, err := c.API.GetRecords(ctx, in, o...)
	if err != nil {
		*c.n++
	}
	return out, err
}

// TestF7ThrottlingNeverGivesTheShardUp: refused calls are tried again with a growing pause; the status
// says so; nothing is lost. (F7)
func TestF7ThrottlingNeverGivesTheShardUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, local.Config{}, 1)
		want := w.put(0, 5, 10)
		w.server.SetFaults(1, local.Fault{Kind: local.Throttle, Op: "GetRecords", Share: 1, Count: 12},
			local.Fault{Kind: local.Throttle, Op: "GetShardIterator", Share: 1, Count: 2})
		api := &hooked{API: w.client}
		r := NewReader(api, w.config(lease.TrimHorizon()))
		statuses, stalls := make(chan string, 1), make(chan time.Duration, 1)
		go func() {
			time.Sleep(20 * time.Second)
			statuses <- r.Status()
			stalls <- r.status.stalled(time.Now())
		}()
		got := w.read(r, count(5))
		if !slices.Equal(w.sequences(got), want) {
			t.Errorf("got %v, want %v", w.sequences(got), want)
		}
		status, stalled := <-statuses, <-stalls
		calls := api.callTimes()
		for i, most := 1, 200*time.Millisecond; i < len(calls)-1; i++ {
			// Two throttled opens came first: the pauses go on from theirs.
			most = min(backoffCap, 200*time.Millisecond<<min(10, i+1))
			if d := calls[i].Sub(calls[i-1]); d < most/2-time.Millisecond || d > most/2+201*time.Millisecond {
				t.Errorf("pause %d was %v; half of %v is due", i, d, most)
			}
		}
		if len(calls) != 13 {
			t.Errorf("%d calls", len(calls))
		}
		if !strings.HasPrefix(status, "throttled (ProvisionedThroughputExceededException), next try in ") {
			t.Errorf("status after 20 s: %q", status)
		}
		if stalled < 19*time.Second || r.status.stalled(time.Now()) != 0 {
			t.Errorf("stalled %v after 20 s of refusals, %v at the end", stalled, r.status.stalled(time.Now()))
		}
	})
}

// TestReaderOutlivesTrouble: server errors, dropped connections and slow answers lose and repeat nothing, and
// no byte of the budget.
func TestReaderOutlivesTrouble(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, local.Config{}, 1)
			w.credit.room = 4 * unknownRecord // four records an answer
			want := w.put(0, 60, 100)
			w.server.SetFaults(seed,
				local.Fault{Kind: local.Delay, Share: 0.1, Delay: 40 * time.Second},
				local.Fault{Kind: local.Error, Op: "GetRecords", Share: 0.2},
				local.Fault{Kind: local.Error, Op: "GetShardIterator", Share: 0.2},
				local.Fault{Kind: local.DropAnswer, Op: "GetRecords", Share: 0.2},
				local.Fault{Kind: local.ExpireIterator, Share: 0.2},
				local.Fault{Kind: local.Throttle, Op: "GetRecords", Share: 0.2})
			got := w.read(NewReader(w.client, w.config(lease.TrimHorizon())), count(60))
			if !slices.Equal(w.sequences(got), want) {
				t.Fatalf("seed %d: got %v, want %v", seed, w.sequences(got), want)
			}
			if held := w.credit.balance(); held != 0 {
				t.Fatalf("seed %d: %d bytes leaked", seed, held)
			}
		})
	}
}

// TestReaderGoesOnAfterEmptyAnswers: an empty answer while behind is not the tip.
func TestReaderGoesOnAfterEmptyAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, local.Config{}, 1)
		w.put(0, 1, 10)
		empty := 0
		api := &hooked{API: w.client}
		api.records = func(in *kinesis.GetRecordsInput) (*kinesis.GetRecordsOutput, error) {
			if empty++; empty > 20 {
				return nil, nil
			}
			return &kinesis.GetRecordsOutput{NextShardIterator: in.ShardIterator, MillisBehindLatest: aws.Int64(60_000)}, nil
		}
		began := time.Now()
		r := NewReader(api, w.config(lease.TrimHorizon()))
		b, err := r.Next(t.Context())
		if err != nil || b.Behind != time.Minute || len(b.Records) != 0 {
			t.Fatalf("first answer: %+v, %v", b, err)
		}
		w.read(r, count(1)) // the other empty answers tell nothing new
		if took := time.Since(began); took != 4*time.Second {
			t.Errorf("20 empty answers took %v; five a second are due", took)
		}
	})
}

// TestH3LastRecordsOfAClosedShard: the answer that ends a shard has records too; they come first.
// (H3: NextShardIterator tested before the records are handled)
func TestH3LastRecordsOfAClosedShard(t *testing.T) {
	for _, together := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, local.Config{EndWithRecords: together}, 1)
			want := w.put(0, 7, 10)
			w.split(firstShard, "1000")
			r := NewReader(w.client, w.config(lease.TrimHorizon()))
			var last Batch
			got := w.read(r, func(b Batch, _ []record.Record) bool { last = b; return b.End })
			if !slices.Equal(w.sequences(got), want) {
				t.Errorf("got %v, want %v", w.sequences(got), want)
			}
			if together != (len(last.Records) == 7) {
				t.Errorf("the last batch has %d records", len(last.Records))
			}
			wantChildren := []lease.Shard{
				{ID: "shardId-000000000001", Parents: []string{firstShard}, HashRange: lease.HashRange{Start: "0", End: "999"}},
				{ID: "shardId-000000000002", Parents: []string{firstShard}, HashRange: lease.HashRange{Start: "1000", End: "340282366920938463463374607431768211455"}},
			}
			if !slices.EqualFunc(last.Children, wantChildren, sameShard) {
				t.Errorf("children %+v", last.Children)
			}
			if last.Trimmed != nil {
				t.Errorf("trimmed: %+v", last.Trimmed)
			}
			// The end is told once; then Next waits for Rewind or the context's end.
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			if b, err := r.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("after the end: %+v, %v", b, err)
			}
			if r.Status() != "read to its end" {
				t.Errorf("status %q", r.Status())
			}
		})
	}
}

// TestH2ClosedShardsAreRead: a shard that was closed before anybody read it is read to its end from
// TRIM_HORIZON, and so is its child, from its own beginning. (H1: a child begun at LATEST loses what
// came before it was picked up; H2: closed shards with unread data)
func TestH1H2ClosedShardAndChildAreReadFromTheirBeginning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, local.Config{}, 1)
		want := w.put(0, 3, 10)
		w.split(firstShard, "1000")
		want = append(want, w.put(3, 4, 10)...)
		w.split("shardId-000000000001", "500")
		time.Sleep(time.Hour)
		got := w.read(NewReader(w.client, w.config(lease.TrimHorizon())), atEnd)
		child := w.config(lease.TrimHorizon())
		child.Shard = "shardId-000000000001"
		got = append(got, w.read(NewReader(w.client, child), atEnd)...)
		if !slices.Equal(w.sequences(got), want) {
			t.Errorf("got %v, want %v", w.sequences(got), want)
		}
	})
}

// TestH13LastRecordOfAClosedShard: to go on after the last record of a closed shard is its end, both when the
// service answers and when it refuses. (H13)
func TestH13LastRecordOfAClosedShard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, local.Config{RefuseEnd: true}, 1)
		all := w.put(0, 3, 10)
		w.split(firstShard, "1000")
		r := NewReader(w.client, w.config(after(t, all[2])))
		var trimmed *Trimmed
		got := w.read(r, func(b Batch, _ []record.Record) bool { trimmed = b.Trimmed; return b.End })
		if len(got) != 0 || trimmed != nil {
			t.Errorf("got %v, trimmed %+v", w.sequences(got), trimmed)
		}

		// The service's words for it, which it uses for iterators AFTER the last record.
		refusal := &types.InvalidArgumentException{Message: aws.String("Invalid SequenceNumber for ShardIteratorType " +
			"AFTER_SEQUENCE_NUMBER, SequenceNumber has reached max possible value for the shard.")}
		for _, api := range []*hooked{
			{API: w.client, iterator: func(*kinesis.GetShardIteratorInput) (*kinesis.GetShardIteratorOutput, error) { return nil, refusal }},
			{API: w.client, records: func(*kinesis.GetRecordsInput) (*kinesis.GetRecordsOutput, error) { return nil, refusal }},
		} {
			b, err := NewReader(api, w.config(after(t, all[2]))).Next(t.Context())
			if err != nil || !b.End || len(b.Children) != 0 || b.Trimmed != nil {
				t.Errorf("%+v, %v", b, err)
			}
		}
	})
}

func TestShardEndIsTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, local.Config{}, 1)
		b, err := NewReader(w.client, w.config(lease.ShardEnd())).Next(t.Context())
		if err != nil || !b.End || len(b.Children) != 0 {
			t.Errorf("%+v, %v", b, err)
		}
	})
}

// TestH9F8ExpiredIterator: an iterator that outlived its five minutes while the handlers were slow is
// replaced at the last record that came; none is lost, repeated or waited for. (H9, F8)
func TestH9F8ExpiredIterator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, local.Config{}, 1)
		want := w.put(0, 5, 10)
		api := &hooked{API: w.client}
		r := NewReader(api, w.config(lease.TrimHorizon()))
		got := w.read(r, count(5))
		want = append(want, w.put(5, 5, 10)...)
		time.Sleep(6 * time.Minute) // a slow handler
		began := time.Now()
		got = append(got, w.read(r, count(5))...)
		if !slices.Equal(w.sequences(got), want) {
			t.Errorf("got %v, want %v", w.sequences(got), want)
		}
		if took := time.Since(began); took > 400*time.Millisecond {
			t.Errorf("it took %v", took)
		}
		if kinds := api.iteratorTypes(); len(kinds) != 2 || kinds[1] != types.ShardIteratorTypeAtSequenceNumber {
			t.Errorf("iterators %v", kinds)
		}
	})
}

// TestF8ExpiryBeforeTheFirstRecord: without a record the start position counts; LATEST is the point
// in time at which it was first opened, so that nothing that came since is jumped over. (F8, H12)
func TestF8H12ExpiryBeforeTheFirstRecord(t *testing.T) {
	for _, start := range []lease.Position{lease.TrimHorizon(), lease.Latest(), lease.AtTimestamp(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC))} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, local.Config{}, 1)
			time.Sleep(time.Minute)
			api := &hooked{API: w.client}
			r := NewReader(api, w.config(start))
			if b, err := r.Next(t.Context()); err != nil || len(b.Records) != 0 {
				t.Fatalf("%+v, %v", b, err)
			}
			time.Sleep(5*time.Second + time.Millisecond)
			want := w.put(0, 5, 10)
			time.Sleep(6 * time.Minute)
			if got := w.sequences(w.read(r, count(5))); !slices.Equal(got, want) {
				t.Errorf("%v: got %v, want %v (iterators %v)", start, got, want, api.iteratorTypes())
			}
			if len(api.iteratorTypes()) != 2 {
				t.Errorf("iterators %v", api.iteratorTypes())
			}
		})
	}
}

// TestH12IdleShard: a shard without records is polled for hours, across iterators' lives, and read at once when
// something comes. (H12)
func TestH12IdleShard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, local.Config{}, 1)
		r := NewReader(w.client, w.config(lease.Latest()))
		go func() {
			time.Sleep(3 * time.Hour)
			w.put(0, 2, 10)
		}()
		began := time.Now()
		if got := w.read(r, count(2)); len(got) != 2 {
			t.Fatal(len(got))
		}
		if d := time.Since(began) - 3*time.Hour; d > DefaultPollInterval {
			t.Errorf("read %v after it was put", d)
		}
	})
}

func TestReaderStartsAfterACheckpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, local.Config{}, 1)
		all := w.put(0, 10, 10)
		for _, start := range []int{0, 4, 8} {
			var trimmed *Trimmed
			got := w.read(NewReader(w.client, w.config(after(t, all[start]))), func(b Batch, all []record.Record) bool {
				trimmed = b.Trimmed
				return len(all) > 0
			})
			if !slices.Equal(w.sequences(got), all[start+1:]) || trimmed != nil {
				t.Errorf("after %d: got %v, trimmed %+v", start, w.sequences(got), trimmed)
			}
		}
		// A place inside an aggregated record opens at that record.
		inside, err := lease.AfterSequence(all[4], 3)
		w.must(err)
		if got := w.sequences(w.read(NewReader(w.client, w.config(inside)), count(5))); !slices.Equal(got, all[5:]) {
			t.Errorf("inside: got %v", got)
		}
	})
}

// TestF30TrimmedCheckpoint: a checkpoint whose record is past the retention is told as such, both when
// the service jumps to the horizon in silence and when it refuses the number. (F30)
func TestF30TrimmedCheckpoint(t *testing.T) {
	for _, refuses := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, local.Config{Retention: 24 * time.Hour}, 1)
			old := w.put(0, 5, 10)
			time.Sleep(30 * time.Hour) // the worker is away
			fresh := w.put(5, 3, 10)
			api := &hooked{API: w.client}
			if refuses {
				api.iterator = refuseSequences
			}
			b := first(t, NewReader(api, w.config(after(t, old[2]))))
			if b.Trimmed == nil || b.Trimmed.After != after(t, old[2]) || b.Trimmed.First != after(t, fresh[0]) {
				t.Errorf("refuses %v: trimmed %+v", refuses, b.Trimmed)
			}
			if got := w.sequences(b.Records); !slices.Equal(got, fresh) {
				t.Errorf("refuses %v: got %v, want %v", refuses, got, fresh)
			}
		})
	}
}

// TestF30NumberOfAnotherStream: a refused number that lies within what the stream keeps is an error that names it,
// never a silent restart; and it is asked again, each minute. (F30, H24)
func TestF30NumberOfAnotherStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, local.Config{}, 1)
		all := w.put(0, 3, 10)
		api := &hooked{API: w.client, iterator: refuseSequences}
		r := NewReader(api, w.config(after(t, all[1])))
		began := time.Now()
		for range 2 {
			b, err := r.Next(t.Context())
			var wrong *PositionError
			if !errors.As(err, &wrong) || !strings.Contains(err.Error(), all[1]) || wrong.Shard != firstShard {
				t.Fatalf("%+v, %v", b, err)
			}
		}
		if took := time.Since(began); took < deniedRetry || took > deniedRetry+2*time.Second {
			t.Errorf("asked again after %v", took)
		}
		api.iterator = nil // somebody has put it right
		if got := w.sequences(w.read(r, count(1))); !slices.Equal(got, all[2:]) {
			t.Errorf("got %v", got)
		}
		if held := w.credit.balance(); held != 0 {
			t.Errorf("%d bytes leaked", held)
		}
	})
}

// TestF30EverythingTrimmed: a closed shard none of whose records is left ends with the checkpoint's fate told.
func TestF30EverythingTrimmed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, local.Config{}, 1)
		old := w.put(0, 2, 10)
		time.Sleep(23 * time.Hour)
		w.split(firstShard, "1000") // keeps the shard listed, its records expire first
		time.Sleep(2 * time.Hour)
		b := first(t, NewReader(w.client, w.config(after(t, old[0]))))
		if !b.End || b.Trimmed == nil || b.Trimmed.First != lease.ShardEnd() || len(b.Children) != 2 {
			t.Errorf("%+v", b)
		}
	})
}

// TestF33PermanentTrouble: missing permissions and keys are told once, tried again each minute, and told to be over;
// the shard is never given up. (F33)
func TestF33PermanentTrouble(t *testing.T) {
	kms := func(e error) func(int) error { return func(int) error { return e } }
	for name, trouble := range map[string]func(int) error{
		"AccessDeniedException":    kms(&types.AccessDeniedException{Message: aws.String("no kinesis:GetRecords")}),
		"KMSAccessDeniedException": kms(&types.KMSAccessDeniedException{}),
		"KMSDisabledException":     kms(&types.KMSDisabledException{}),
		"KMSInvalidStateException": kms(&types.KMSInvalidStateException{}),
		"KMSNotFoundException":     kms(&types.KMSNotFoundException{}),
		"KMSOptInRequired":         kms(&types.KMSOptInRequired{}),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, local.Config{}, 1)
				want := w.put(0, 2, 10)
				api := &hooked{API: w.client}
				n := 0
				api.records = func(*kinesis.GetRecordsInput) (*kinesis.GetRecordsOutput, error) {
					if n++; n > 4 {
						return nil, nil
					}
					return nil, trouble(n)
				}
				var notices []Notice
				cfg := w.config(lease.TrimHorizon())
				cfg.Notice = func(n Notice) { notices = append(notices, n) }
				r := NewReader(api, cfg)
				began := time.Now()
				statuses := make(chan string, 1)
				go func() { time.Sleep(90 * time.Second); statuses <- r.Status() }()
				if got := w.sequences(w.read(r, count(2))); !slices.Equal(got, want) {
					t.Errorf("got %v", got)
				}
				if took := time.Since(began); took != 4*time.Minute {
					t.Errorf("four tries took %v", took)
				}
				if len(notices) != 2 || notices[0].Shard != firstShard || !strings.Contains(notices[0].Err.Error(), name) || notices[1].Err != nil {
					t.Errorf("notices %+v", notices)
				}
				if status := <-statuses; !strings.HasPrefix(status, "access denied, tried again each minute: "+name) || !strings.HasSuffix(status, "next try in 30s") {
					t.Errorf("status %q", status)
				}
			})
		})
	}
}

// TestTroubleThatLasts: what may pass by itself is told once it has not for a minute, and told to be over. A shorter one is
// not.
func TestTroubleThatLasts(t *testing.T) {
	for name, fault := range map[string]local.Fault{
		"throttled":  {Kind: local.Throttle, Op: "GetRecords", Share: 1},
		"broken":     {Kind: local.Error, Share: 1},
		"no answers": {Kind: local.DropAnswer, Share: 1},
	} {
		for _, lasts := range []time.Duration{45 * time.Second, 5 * time.Minute} {
			t.Run(fmt.Sprint(name, " ", lasts), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t, local.Config{}, 1)
					w.put(0, 1, 10)
					w.server.SetFaults(1, fault)
					time.AfterFunc(lasts, func() { w.server.SetFaults(1) })
					var notices []Notice
					began, told := time.Now(), time.Duration(0)
					cfg := w.config(lease.TrimHorizon())
					cfg.Notice = func(n Notice) {
						if notices = append(notices, n); len(notices) == 1 {
							told = time.Since(began)
						}
					}
					w.read(NewReader(w.client, cfg), count(1))
					switch {
					case lasts < time.Minute && len(notices) == 0:
					case lasts > time.Minute && len(notices) == 2 && notices[0].Err != nil && notices[0].Passing && notices[1].Err == nil &&
						told >= time.Minute && told < time.Minute+2*backoffCap:
					default:
						t.Errorf("notices %+v, the first after %v", notices, told)
					}
				})
			})
		}
	}
}

// TestMissingIsNotTheEnd: a deleted stream is an error of its own, again and again, and no batch.
func TestMissingIsNotTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, local.Config{}, 1)
		r := NewReader(w.client, w.config(lease.TrimHorizon()))
		if _, err := r.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, err := w.client.DeleteStream(t.Context(), &kinesis.DeleteStreamInput{StreamName: aws.String(streamName)})
		w.must(err)
		began := time.Now()
		for range 5 {
			if b, err := r.Next(t.Context()); !errors.Is(err, ErrMissing) || b.End {
				t.Fatalf("%+v, %v", b, err)
			}
		}
		if took := time.Since(began); took < 2*time.Second {
			t.Errorf("asked five times within %v", took)
		}
	})
}

// TestContextEndsEveryWait: whatever Next waits for, it returns the context's cause at once.
func TestContextEndsEveryWait(t *testing.T) {
	cause := errors.New("enough")
	for name, prepare := range map[string]func(*world, *hooked){
		"poll interval": func(w *world, _ *hooked) {},
		"slow call": func(w *world, _ *hooked) {
			w.server.SetFaults(1, local.Fault{Kind: local.Delay, Op: "GetRecords", Share: 1, Delay: 20 * time.Second})
		},
		"slow open": func(w *world, _ *hooked) {
			w.server.SetFaults(1, local.Fault{Kind: local.Delay, Op: "GetShardIterator", Share: 1, Delay: 20 * time.Second})
		},
		"back-off": func(w *world, _ *hooked) {
			w.server.SetFaults(1, local.Fault{Kind: local.Error, Share: 1})
		},
		"minute": func(_ *world, h *hooked) {
			h.records = func(*kinesis.GetRecordsInput) (*kinesis.GetRecordsOutput, error) {
				return nil, &types.AccessDeniedException{}
			}
		},
		"memory": func(w *world, _ *hooked) { w.credit.gate = make(chan struct{}) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, local.Config{}, 1)
				api := &hooked{API: w.client}
				prepare(w, api)
				r := NewReader(api, w.config(lease.TrimHorizon()))
				ctx, cancel := context.WithCancelCause(t.Context())
				began := time.Now()
				time.AfterFunc(7700*time.Millisecond, func() { cancel(cause) })
				var err error
				for err == nil {
					_, err = r.Next(ctx)
				}
				if !errors.Is(err, cause) || time.Since(began) != 7700*time.Millisecond {
					t.Errorf("%v after %v", err, time.Since(began))
				}
				if held := w.credit.balance(); held != 0 {
					t.Errorf("%d bytes leaked", held)
				}
			})
		})
	}
}

func first(t *testing.T, r *Reader) Batch {
	t.Helper()
	for {
		b, err := r.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(b.Records) > 0 || b.End || b.Trimmed != nil {
			return b
		}
	}
}

func refuseSequences(in *kinesis.GetShardIteratorInput) (*kinesis.GetShardIteratorOutput, error) {
	if in.StartingSequenceNumber == nil {
		return nil, nil
	}
	return nil, &types.InvalidArgumentException{Message: aws.String("StartingSequenceNumber " + *in.StartingSequenceNumber +
		" used in GetShardIterator on shard " + *in.ShardId + " in stream orders under account 000000000000 is invalid because it did not come from this stream.")}
}
