package local_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"

	"github.com/leatstream/leat/local"
)

const overRate = "ProvisionedThroughputExceededException: Rate exceeded for shard shardId-000000000000 in stream s under account 000000000000."

// reader reads a shard on and on from its start.
type reader struct {
	*fixture
	iterator *string
}

// read makes one call; refused says whether it was over the quota.
func (r *reader) read(limit int32) (refused bool) {
	r.Helper()
	out, err := r.client.GetRecords(r.Context(), &kinesis.GetRecordsInput{ShardIterator: r.iterator, Limit: &limit})
	if err != nil {
		if refusal(err) != overRate {
			r.Fatalf("got %s\nwant %s", refusal(err), overRate)
		}
		return true
	}
	r.iterator = out.NextShardIterator
	return false
}

// slowly writes count records of a size no faster than the quota allows.
func (f *fixture) slowly(count, size int) {
	for range count {
		f.putMany("s", 1, size)
		time.Sleep(time.Duration(size+1) * time.Second / (1 << 20))
	}
}

func TestReadQuotas(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]func(r *reader){
		"five calls a second": func(r *reader) {
			for i := range 5 {
				if r.read(1) {
					r.Fatalf("call %d is refused", i+1)
				}
			}
			time.Sleep(999 * time.Millisecond)
			if !r.read(1) {
				r.Error("the sixth call in a second is allowed")
			}
			time.Sleep(time.Millisecond)
			if r.read(1) {
				r.Error("a call a second after the first is refused")
			}
		},
		"ten MiB at once": func(r *reader) {
			r.slowly(11, 1<<20-1)
			if r.read(10_000) {
				r.Fatal("the first call is refused")
			}
			time.Sleep(4990 * time.Millisecond) // the answer was some bytes short of 10 MiB
			if !r.read(1) {
				r.Error("a call within five seconds after 10 MiB is allowed")
			}
			time.Sleep(10 * time.Millisecond)
			if r.read(1) {
				r.Error("a call five seconds after 10 MiB is refused")
			}
		},
		"two MiB a second": func(r *reader) {
			r.slowly(4, 1<<20-1)
			for range 2 {
				if r.read(1) {
					r.Fatal("two records of 1 MiB in a second are refused")
				}
			}
			if !r.read(1) {
				r.Error("a third MiB within a second is allowed")
			}
			time.Sleep(500 * time.Millisecond)
			if r.read(1) {
				r.Error("a MiB half a second after two is refused")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := start(t, local.Config{})
				f.create("s", 1)
				c(&reader{f, f.iterator("s", shard0, types.ShardIteratorTypeTrimHorizon)})
			})
		})
	}
}

func TestIteratorQuota(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := start(t, local.Config{})
		f.create("s", 1)
		for range 5 {
			f.iterator("s", shard0, types.ShardIteratorTypeLatest)
		}
		_, err := f.client.GetShardIterator(t.Context(), &kinesis.GetShardIteratorInput{
			StreamName: aws.String("s"), ShardId: aws.String(shard0), ShardIteratorType: types.ShardIteratorTypeLatest})
		if refusal(err) != overRate {
			t.Errorf("the sixth iterator in a second: %v", err)
		}
		time.Sleep(time.Second)
		f.iterator("s", shard0, types.ShardIteratorTypeLatest)
	})
}

// TestWriteQuotas fills one of two shards: its entries fail one by one, those of
// the other shard do not.
func TestWriteQuotas(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := start(t, local.Config{})
		f.create("s", 2)
		put := func(size int, hashKeys ...string) (failed []int) {
			t.Helper()
			var entries []types.PutRecordsRequestEntry
			for _, key := range hashKeys {
				entries = append(entries, types.PutRecordsRequestEntry{
					Data: make([]byte, size-1), PartitionKey: aws.String("k"), ExplicitHashKey: aws.String(key)})
			}
			out, err := f.client.PutRecords(t.Context(), &kinesis.PutRecordsInput{StreamName: aws.String("s"), Records: entries})
			if err != nil {
				t.Fatal(err)
			}
			for i, r := range out.Records {
				if r.ErrorCode == nil {
					if r.SequenceNumber == nil || r.ErrorMessage != nil {
						t.Errorf("entry %d succeeded and is %+v", i, r)
					}
					continue
				}
				failed = append(failed, i)
				if got := *r.ErrorCode + ": " + *r.ErrorMessage; got != overRate || r.SequenceNumber != nil {
					t.Errorf("entry %d: %s, want %s", i, got, overRate)
				}
			}
			if int(*out.FailedRecordCount) != len(failed) {
				t.Errorf("FailedRecordCount is %d of %d", *out.FailedRecordCount, len(failed))
			}
			return failed
		}
		const mib = 1 << 20
		if failed := put(mib/2, "0", "0", half, "0", half); len(failed) != 1 || failed[0] != 3 {
			t.Errorf("three halves of a MiB in one shard: entries %v failed", failed)
		}
		time.Sleep(500 * time.Millisecond)
		if failed := put(mib/2, "0", "0"); len(failed) != 1 {
			t.Errorf("a MiB after half a second: entries %v failed", failed)
		}

		time.Sleep(time.Second)
		thousand := 0
		for range 3 {
			thousand += 500 - len(put(1, strings.Split(strings.Repeat("0,", 499)+"0", ",")...))
		}
		if thousand != 1000 {
			t.Errorf("%d records in a moment, want 1000", thousand)
		}
	})
}

// TestLargeRecord writes a record of more than a second's quota: it is taken, and
// paid for afterwards.
func TestLargeRecord(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := start(t, local.Config{MaxRecordSize: 10 << 20})
		f.create("s", 1)
		f.putMany("s", 1, 5<<20-1)
		put := func() error {
			_, err := f.client.PutRecord(t.Context(), &kinesis.PutRecordInput{
				StreamName: aws.String("s"), PartitionKey: aws.String("k"), Data: make([]byte, 1023)})
			return err
		}
		time.Sleep(4 * time.Second)
		if err := put(); refusal(err) != overRate {
			t.Errorf("four seconds after 5 MiB: %v", err)
		}
		time.Sleep(time.Millisecond)
		if err := put(); err != nil {
			t.Errorf("when there is room again: %v", err)
		}
	})
}
