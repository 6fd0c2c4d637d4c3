package local_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"

	"github.com/leatstream/leat/local"
)

// TestConcurrentUse writes, reads and reshards at the same time. It is for the
// race detector, and for answers that are encoded while their shard grows: at the
// end the readers have seen each writer's records in order.
func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	const writers, each = 4, 100
	f := start(t, local.Config{Unlimited: true})
	f.create("s", 2)

	written := make(chan struct{})
	var writing, all sync.WaitGroup
	for w := range writers {
		writing.Go(func() {
			for i := range each {
				_, err := f.client.PutRecord(t.Context(), &kinesis.PutRecordInput{
					StreamName: aws.String("s"), PartitionKey: aws.String(fmt.Sprint(w)), Data: fmt.Append(nil, i)})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Go(func() { // splits what the records go to, again and again
		for i := range 6 {
			open := f.list(&kinesis.ListShardsInput{StreamName: aws.String("s"),
				ShardFilter: &types.ShardFilter{Type: types.ShardFilterTypeAtLatest}})
			victim := open[i%len(open)]
			middle := from(victim).Add(from(victim), to(victim))
			f.split("s", *victim.ShardId, middle.Rsh(middle, 1).String())
		}
	})
	all.Go(func() { // reads what is there, for the race detector's sake
		iterator := f.iterator("s", shard0, types.ShardIteratorTypeTrimHorizon)
		for {
			select {
			case <-written:
				return
			default:
				f.get(iterator)
			}
		}
	})
	writing.Wait()
	close(written)
	all.Wait()

	read := make(map[string][]string)
	for _, h := range f.list(&kinesis.ListShardsInput{StreamName: aws.String("s")}) {
		for _, r := range f.drain(f.iterator("s", *h.ShardId, types.ShardIteratorTypeTrimHorizon)) {
			read[*r.PartitionKey] = append(read[*r.PartitionKey], string(r.Data))
		}
	}
	var want []string
	for i := range each {
		want = append(want, fmt.Sprint(i))
	}
	for w := range writers {
		if got := read[fmt.Sprint(w)]; !slices.Equal(got, want) {
			t.Errorf("writer %d: read %q", w, got)
		}
	}
}
