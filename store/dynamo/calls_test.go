package dynamo_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/leatstream/leat/lease"
	"github.com/leatstream/leat/local/dynamodb"
	"github.com/leatstream/leat/store/dynamo"
)

// strict refuses requests whose time is not the server's, as the service does.
type strict struct{ inner aws.HTTPClient }

func (c strict) Do(r *http.Request) (*http.Response, error) {
	answer, err := c.inner.Do(r)
	if err != nil {
		return nil, err
	}
	now, err := http.ParseTime(answer.Header.Get("Date"))
	if err != nil {
		return nil, err
	}
	signed, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	if err != nil {
		return nil, err
	}
	if now.Sub(signed).Abs() > 5*time.Minute {
		answer.StatusCode = http.StatusBadRequest
		answer.Header.Del("X-Amz-Crc32")
		answer.Body = io.NopCloser(bytes.NewReader([]byte(`{"__type":"com.amazon.coral.service#InvalidSignatureException","message":"Signature expired"}`)))
	}
	return answer, nil
}

var (
	shard  = lease.Item{Key: lease.LeaseKey("orders", "s1"), Lease: lease.Lease{Owner: "anna"}}
	worker = lease.Item{Key: lease.WorkerKey("anna"), Worker: lease.Worker{State: lease.Alive}}
)

// world is a Store with a lease and a worker, in virtual time.
type world struct {
	*testing.T
	srv *dynamodb.Server
	*dynamo.Store
}

func inWorld(t *testing.T, run func(t *testing.T, w world), change ...func(*dynamo.Config)) {
	synctest.Test(t, func(t *testing.T) {
		srv := dynamodb.New(dynamodb.Config{})
		w := world{t, srv, opened(t, srv, change...)}
		for _, item := range []lease.Item{shard, worker} {
			w.must(lease.Write{Op: lease.Create, Item: item})
		}
		run(t, w)
	})
}

func (w world) must(write lease.Write) {
	w.Helper()
	if _, err := w.Write(w.Context(), "billing", write); err != nil {
		w.Fatal(err)
	}
}

func next(item lease.Item) lease.Write {
	w := lease.Write{Op: lease.Update, Item: item, Counter: item.Counter, Owner: item.Lease.Owner}
	w.Item.Counter++
	return w
}

// What passes by itself is tried again; the caller never hears of it.
func TestTriedAgain(t *testing.T) {
	for name, kind := range map[string]dynamodb.FaultKind{
		"throttled": dynamodb.Throttle, "broken": dynamodb.Error, "cut off": dynamodb.DropRequest, "silent": dynamodb.Hang,
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w world) {
				w.srv.SetFaults(1, dynamodb.Fault{Kind: kind, Share: 1, Count: 2})
				ctx, cancel := context.WithTimeout(t.Context(), 6*time.Second)
				defer cancel()
				if _, err := w.Write(ctx, "billing", next(worker)); err != nil {
					t.Error(err)
				}
				if got, err := w.Get(ctx, "billing", worker.Key); err != nil || got.Counter != 1 {
					t.Errorf("%+v, %v", got, err)
				}
			})
		})
	}
}

// A call ends with its context, or a little earlier; its error says what went wrong on the way.
func TestEndsInTime(t *testing.T) {
	for name, test := range map[string]struct {
		kind dynamodb.FaultKind
		is   error
		says string
	}{
		"throttled": {dynamodb.Throttle, nil, "use billing on demand"},
		"broken":    {dynamodb.Error, nil, "InternalServerError"},
		"cut off":   {dynamodb.DropRequest, nil, "EOF"},
		"silent":    {dynamodb.Hang, context.DeadlineExceeded, ""},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w world) {
				w.srv.SetFaults(1, dynamodb.Fault{Kind: test.kind, Share: 1})
				begin := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				_, err := w.Write(ctx, "billing", next(worker))
				if took := time.Since(begin); took > time.Second || test.is == nil && took == time.Second {
					t.Errorf("it took %v: an error that is known does not wait for the end of the context", took)
				}
				wantError(t, err, "lease table leat: update worker/anna of group billing", test.says)
				if test.is != nil && !errors.Is(err, test.is) {
					t.Errorf("%v, want %v", err, test.is)
				}
			})
		})
	}
}

// A write whose answer is lost is repeated by the Store; the conflict shows that it has landed.
func TestAnswerLost(t *testing.T) {
	for _, item := range []lease.Item{shard, worker} {
		inWorld(t, func(t *testing.T, w world) {
			w.srv.SetFaults(1, dynamodb.Fault{Kind: dynamodb.DropAnswer, Op: "UpdateItem", Share: 1, Count: 1})
			write := next(item)
			_, err := w.Write(t.Context(), "billing", write)
			conflict, ok := errors.AsType[*lease.ConflictError](err)
			if !ok || !write.Landed(conflict.Item, conflict.Found) {
				t.Errorf("%v, want a conflict with the write itself", err)
			}
		})
	}
}

// A write that arrives long after its attempt had timed out changes nothing any more.
func TestLateWrite(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.srv.SetFaults(1, dynamodb.Fault{Kind: dynamodb.Late, Op: "UpdateItem", Share: 1, Count: 1, Delay: 25 * time.Second})
		w.must(next(shard))
		moved := next(shard).Item
		moved.Lease.Owner = "berta"
		w.must(lease.Write{Op: lease.Update, Item: next(moved).Item, Counter: 1, Owner: "anna"})
		time.Sleep(30 * time.Second)
		if got, err := w.Get(t.Context(), "billing", shard.Key); err != nil || got.Counter != 2 || got.Lease.Owner != "berta" {
			t.Errorf("%+v, %v", got, err)
		}
		if late := w.srv.Usage()["UpdateItem"].Conditions; late != 2 { // Open's trial is the other one
			t.Errorf("%d conditions failed, want that of the late write", late)
		}
	})
}

// Only what asks for consistency gets it; all else costs half and may be old.
func TestStaleReads(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.srv.SetFaults(1, dynamodb.Fault{Kind: dynamodb.Stale, Share: 1, Delay: 2 * time.Second})
		time.Sleep(time.Second)
		for _, item := range []lease.Item{shard, worker} {
			w.must(next(item))
		}
		time.Sleep(time.Second)
		members := func(consistent bool) int64 {
			items, err := w.Members(t.Context(), "billing", consistent)
			if err != nil || len(items) != 1 {
				t.Fatalf("%+v, %v", items, err)
			}
			return items[0].Counter
		}
		leases := func() (counter int64) {
			for item, err := range w.Leases(t.Context(), "billing", "orders") {
				if err != nil {
					t.Fatal(err)
				}
				counter = item.Counter
			}
			return counter
		}
		got, err := w.Get(t.Context(), "billing", shard.Key)
		if err != nil || got.Counter != 1 || members(true) != 1 {
			t.Errorf("a consistent read is old: %+v, %v", got, err)
		}
		if members(false) != 0 || leases() != 0 {
			t.Error("a read that may be stale is consistent: it costs twice as much")
		}
		time.Sleep(2 * time.Second)
		if members(false) != 1 || leases() != 1 {
			t.Error("a read is older than the server's staleness")
		}
	})
}

// What each call costs. The worker's item and a read of the members are what P7 counts on.
func TestUnits(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		cost := func(what string, read, write float64, call func() error) {
			t.Helper()
			before := w.srv.Usage()
			if err := call(); err != nil {
				t.Errorf("%s: %v", what, err)
			}
			var r, u float64
			for op, used := range w.srv.Usage() {
				r, u = r+used.Read-before[op].Read, u+used.Write-before[op].Write
			}
			if r != read || u != write {
				t.Errorf("%s costs %v read and %v write units, want %v and %v", what, r, u, read, write)
			}
		}
		ctx := t.Context()
		cost("a heartbeat", 0, 1, func() error { _, err := w.Write(ctx, "billing", next(worker)); return err })
		cost("a checkpoint", 0, 1, func() error { _, err := w.Write(ctx, "billing", next(shard)); return err })
		cost("a conflict", 0, 1, func() error {
			if _, err := w.Write(ctx, "billing", next(shard)); err == nil {
				return errors.New("no conflict")
			}
			return nil
		})
		cost("a conflict with nothing", 1, 1, func() error {
			if _, err := w.Write(ctx, "other", next(shard)); err == nil {
				return errors.New("no conflict")
			}
			return nil
		})
		cost("the members", 0.5, 0, func() error { _, err := w.Members(ctx, "billing", false); return err })
		cost("the members for sure", 1, 0, func() error { _, err := w.Members(ctx, "billing", true); return err })
		cost("an item", 1, 0, func() error { _, err := w.Get(ctx, "billing", shard.Key); return err })
		cost("the leases", 0.5, 0, func() error {
			for _, err := range w.Leases(ctx, "billing", "orders") {
				return err
			}
			return nil
		})
	})
}

// However many calls wait, or hang, a heartbeat does not; of the rest, writes go first.
func TestHeartbeatsGoFirst(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		w.srv.SetFaults(1, dynamodb.Fault{Kind: dynamodb.Delay, Op: "GetItem", Share: 1, Delay: 700 * time.Millisecond})
		var mu sync.Mutex
		var ended []string
		begin := time.Now()
		var running sync.WaitGroup
		call := func(name string, f func() error) {
			running.Go(func() {
				if err := f(); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				mu.Lock()
				defer mu.Unlock()
				ended = append(ended, name+" "+time.Since(begin).String())
			})
			synctest.Wait()
		}
		ctx := t.Context()
		get := func() error { _, err := w.Get(ctx, "billing", shard.Key); return err }
		call("read", get)
		call("read", get)
		call("checkpoint", func() error { _, err := w.Write(ctx, "billing", next(shard)); return err })
		call("heartbeat", func() error { _, err := w.Write(ctx, "billing", next(worker)); return err })
		running.Wait()
		want := []string{"heartbeat 0s", "read 700ms", "checkpoint 700ms", "read 1.4s"}
		if len(ended) != len(want) {
			t.Fatalf("%v, want %v", ended, want)
		}
		if ended[1] == want[2] { // both end at one instant
			ended[1], ended[2] = ended[2], ended[1]
		}
		for i := range want {
			if ended[i] != want[i] {
				t.Fatalf("%v, want %v", ended, want)
			}
		}
	}, func(c *dynamo.Config) { c.Concurrency = 1 })
}

// Attributes of any type that others have put into an item stay; one of ours with a wrong type is that item's error.
func TestForeignAttributes(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		at := tableOf{w.srv.AWSConfig(), "", dynamo.DefaultTable}
		foreign := map[string]types.AttributeValue{
			"aMap":  &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{"a": &types.AttributeValueMemberNULL{Value: true}}},
			"aList": &types.AttributeValueMemberL{Value: []types.AttributeValue{&types.AttributeValueMemberN{Value: "1.5"}}},
			"bytes": &types.AttributeValueMemberBS{Value: [][]byte{{0, 255}}},
		}
		for name, v := range foreign {
			at.plant(t, "billing", shard.Key.String(), name, v)
		}
		w.must(next(shard))
		w.must(lease.PutHold(shard, lease.Hold{ID: "t1", For: time.Minute}))
		stands := at.peek(t, "billing", shard.Key.String())
		for name := range foreign {
			if stands[name] == nil {
				t.Errorf("attribute %s is gone", name)
			}
		}
		for name, v := range map[string]types.AttributeValue{
			"checkpoint":   &types.AttributeValueMemberB{Value: []byte("x")},
			"leaseCounter": &types.AttributeValueMemberN{Value: "1.5"},
			"leaseOwner":   &types.AttributeValueMemberNULL{Value: true},
		} {
			item := lease.Item{Key: lease.LeaseKey("orders", name)}
			w.must(lease.Write{Op: lease.Create, Item: item})
			at.plant(t, "billing", item.Key.String(), name, v)
			_, err := w.Get(t.Context(), "billing", item.Key)
			if bad, ok := errors.AsType[*lease.ItemError](err); !ok || bad.Key != item.Key.String() {
				t.Errorf("%s: %v, want an *ItemError", name, err)
			}
			wantError(t, err, name)
		}
		// An empty text is not what leat writes for a free lease: neither a conflict nor a success.
		other := lease.Item{Key: lease.LeaseKey("orders", "s2")}
		w.must(lease.Write{Op: lease.Create, Item: other})
		at.plant(t, "billing", other.Key.String(), "leaseOwner", &types.AttributeValueMemberS{Value: ""})
		_, err := w.Write(t.Context(), "billing", next(other))
		wantError(t, err, "empty attribute")

		// Items of a kind that only a later leat knows are nobody's business.
		at.plant(t, "billing", "worker-load/anna", "load", &types.AttributeValueMemberN{Value: "1"})
		at.plant(t, "billing", "control", "colour", &types.AttributeValueMemberS{Value: "green"})
		_, err = w.Members(t.Context(), "billing", true)
		wantError(t, err, `"workers"`, "changes")
	})
}

// What would come back as another text is refused.
func TestNoUTF8(t *testing.T) {
	inWorld(t, func(t *testing.T, w world) {
		bad := "\xff"
		for _, write := range []lease.Write{
			{Op: lease.Create, Item: lease.Item{Key: lease.WorkerKey(bad), Worker: lease.Worker{State: lease.Alive}}},
			{Op: lease.Create, Item: lease.Item{Key: lease.LeaseKey("orders", "s9"), Lease: lease.Lease{Owner: bad}}},
			{Op: lease.Delete, Item: lease.Item{Key: shard.Key}, Owner: bad},
			{Op: lease.Create, Item: lease.Item{Key: lease.LeaseKey("orders", "s9"), Lease: lease.Lease{Parents: []string{bad}}}},
		} {
			_, err := w.Write(t.Context(), "billing", write)
			wantError(t, err, "UTF-8")
		}
		_, err := w.Write(t.Context(), bad, next(shard))
		wantError(t, err, "UTF-8")
	})
}

// When the network is cut, all idle connections are dead. One attempt finds that out, not one for each.
func TestDeadConnections(t *testing.T) {
	t.Parallel()
	srv := dynamodb.New(dynamodb.Config{})
	var mu sync.Mutex
	together := sync.NewCond(&mu)
	known, cut := map[string]bool{}, false
	hung, arrived := 0, 0
	over := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		if cut && known[r.RemoteAddr] {
			hung++
			mu.Unlock()
			<-over
			return
		}
		if !cut {
			known[r.RemoteAddr] = true
		}
		if r.Header.Get("X-Amz-Target") == dynamodb.TargetPrefix+"GetItem" && !cut && arrived < 9 { // Open's trial, then 8 at one time
			arrived++
			for together.Broadcast(); arrived > 1 && arrived < 9; {
				together.Wait()
			}
		}
		mu.Unlock()
		srv.ServeHTTP(w, r)
	}))
	defer server.Close()
	defer close(over)
	cfg := srv.AWSConfig()
	cfg.HTTPClient = nil
	s := dynamo.New(dynamo.Config{AWS: &cfg, Endpoint: server.URL, AttemptTimeout: 2 * time.Second})
	if _, err := s.Open(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	for range 8 {
		running.Go(func() {
			if _, err := s.Get(t.Context(), "billing", shard.Key); !errors.Is(err, lease.ErrNotFound) {
				t.Error(err)
			}
		})
	}
	running.Wait()
	mu.Lock()
	cut = true
	if len(known) < 8 {
		t.Errorf("only %d connections", len(known))
	}
	mu.Unlock()
	if _, err := s.Write(t.Context(), "billing", lease.Write{Op: lease.Create, Item: worker}); err != nil {
		t.Error(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if hung != 1 {
		t.Errorf("%d attempts went to dead connections, want 1", hung)
	}
}
