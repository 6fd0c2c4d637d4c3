package leat

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/leatstream/leat/lease"
	"github.com/leatstream/leat/local"
	"github.com/leatstream/leat/store/dynamo"
)

// Somebody sets a checkpoint in the table by hand, back to 1, under the owner's feet. That shard stands still and says
// why; the other one goes on; and after a restart all goes on from what the table says: what came after 1 is repeated.
func TestRunCheckpointSetByHand(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRiver(t, local.Config{}, 2)
		anna := r.start("anna", nil, inDynamoDB)
		r.fill(10, 10, time.Second)
		elapse(10 * time.Second) // the last checkpoints are written
		shard := r.log(nil)[0].shard
		_, err := dynamodb.NewFromConfig(r.server.AWSConfig()).UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
			TableName: aws.String(dynamo.DefaultTable),
			Key: map[string]types.AttributeValue{
				"group": &types.AttributeValueMemberS{Value: "billing"},
				"item":  &types.AttributeValueMemberS{Value: lease.LeaseKey(riverName, shard).String()},
			},
			UpdateExpression:          aws.String("SET #c = :c"),
			ExpressionAttributeNames:  map[string]string{"#c": "checkpoint"},
			ExpressionAttributeValues: map[string]types.AttributeValue{":c": &types.AttributeValueMemberS{Value: "1"}},
		})
		r.must(err)
		elapse(90 * time.Second) // leases are read once a minute
		halted := time.Now()
		r.fill(10, 10, time.Second)
		elapse(10 * time.Second)

		for _, c := range r.log(since(halted)) {
			if c.shard == shard {
				t.Fatalf("%s goes on with %s", shard, c.sequence)
			}
		}
		s := anna.Stats()
		why := map[bool]string{}
		for _, sh := range s.Shards {
			why[sh.Shard == shard] = sh.Why
		}
		if len(s.Shards) != 2 || !strings.HasPrefix(why[true], "invariant S11 belief: ") || strings.Contains(why[false], "invariant") || anna.Health() != nil {
			t.Errorf("health %v, %+v", anna.Health(), s.Shards)
		}
		if told := anna.kinds(EventInvariantBroken); len(told) != 1 {
			t.Errorf("%d events", len(told))
		}
		for _, ev := range anna.events {
			broken := (*lease.InvariantError)(nil)
			if ev.Kind == EventInvariantBroken && (!errors.As(ev.Err, &broken) || ev.Shard != shard) {
				t.Errorf("event %+v", ev)
			}
		}
		r.must(anna.stop())
		berta := r.start("berta", nil, inDynamoDB)
		elapse(30 * time.Second)
		r.must(berta.stop())
		if repeats := r.judge(1); repeats == 0 {
			t.Error("nothing was repeated, though the checkpoint had been set back")
		}
	})
}
