package dynamodb_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/leatstream/leat/local/dynamodb"
)

// control makes a call under ControlPath, and returns status and answer.
func control(srv *dynamodb.Server, method, path, body string) (int, string) {
	answer := httptest.NewRecorder()
	srv.ServeHTTP(answer, httptest.NewRequest(method, dynamodb.ControlPath+path, strings.NewReader(body)))
	return answer.Code, strings.TrimSpace(answer.Body.String())
}

func TestFaultsOverHTTP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv, client := withTable(t, dynamodb.Config{})
		expect := func(method, body, want string) {
			t.Helper()
			if status, answer := control(srv, method, "faults", body); status != http.StatusOK || answer != want {
				t.Errorf("%s: %d %s, want %s", method, status, answer, want)
			}
		}
		const none = `{"seed":0,"rules":[]}`
		expect("GET", "", none)
		const rules = `{"seed":7,"rules":[{"kind":"stale","op":"GetItem","share":1,"delay":"1m0s"},` +
			`{"kind":"noItem","op":"DeleteItem","share":1},{"kind":"deny","op":"UpdateItem","share":1,"count":2}]}`
		expect("POST", rules, rules)
		expect("GET", "", rules)

		put(t, client, "a", "old")
		time.Sleep(2 * time.Minute)
		put(t, client, "a", "new")
		if stale, fresh := get(t, client, "a", false), get(t, client, "a", true); stale != "old" || fresh != "new" {
			t.Errorf("a stale read sees %q, a consistent one %q", stale, fresh)
		}
		if it := refuse(t, client, "a"); it != nil {
			t.Errorf("a failed condition came with %v", it)
		}
		expect("DELETE", "", none)
		if it := refuse(t, client, "a"); len(it) == 0 {
			t.Error("without faults a failed condition came without the item")
		}

		for _, kind := range []string{"throttle", "error", "dropRequest", "dropAnswer", "hang"} {
			expect("POST", `{"rules":[{"kind":"`+kind+`"}]}`, `{"seed":0,"rules":[{"kind":"`+kind+`","share":1}]}`)
		}
		expect("POST", `{"rules":[{"kind":"late","delay":"5s"}]}`, `{"seed":0,"rules":[{"kind":"late","share":1,"delay":"5s"}]}`)
		for body, want := range map[string]string{
			`{"rules":[{"kind":"expireIterator"}]}`:                       `rules[0]: kind: "expireIterator" is none of ["delay" `,
			`{"rules":[{"kind":"error","op":"GetRecords"}]}`:              `rules[0]: op: "GetRecords"`,
			`{"rules":[{"kind":"error","shard":"shardId-000000000000"}]}`: `rules[0]: shard: `,
			`{"rules":[{"kind":"stale"}]}`:                                `rules[0]: delay: ""`,
			`{"rules":[{"kind":"noItem","delay":"1s"}]}`:                  `rules[0]: delay: is for the kinds ["delay" "late" "stale"] only`,
		} {
			if status, answer := control(srv, "POST", "faults", body); status != http.StatusBadRequest || !strings.Contains(answer, want) {
				t.Errorf("%s: %d %s, want %s", body, status, answer, want)
			}
		}
	})
}

func TestTablesOverHTTP(t *testing.T) {
	srv, client := withTable(t, dynamodb.Config{})
	expect := func(path string, status int, want string) {
		t.Helper()
		if got, answer := control(srv, "POST", path, ""); got != status || !strings.Contains(answer, want) {
			t.Errorf("%s: %d %s, want %d %s", path, got, answer, status, want)
		}
	}
	put(t, client, "a", "old")
	expect("tables/table/restore", http.StatusNotFound, "no backup")
	expect("tables/table/backup", http.StatusOK, `{"table":"table","items":1}`)
	put(t, client, "a", "new")
	put(t, client, "b", "new")
	expect("tables/table/lose", http.StatusOK, `{"table":"table","items":2}`)
	_, err := client.DescribeTable(t.Context(), &sdk.DescribeTableInput{TableName: aws.String("table")})
	if _, missing := errors.AsType[*types.ResourceNotFoundException](err); !missing {
		t.Errorf("a lost table: %v", err)
	}
	expect("tables/table/lose", http.StatusNotFound, "ResourceNotFoundException")
	expect("tables/table/backup", http.StatusNotFound, "ResourceNotFoundException")
	for range 2 { // a backup is not used up
		expect("tables/table/restore", http.StatusOK, `{"table":"table","items":1}`)
		if a, b := get(t, client, "a", true), get(t, client, "b", true); a != "old" || b != "" {
			t.Errorf("a is %q, b is %q", a, b)
		}
		put(t, client, "a", "newer")
	}
	expect("tables/table/drop", http.StatusNotFound, "")
	if status, _ := control(srv, "GET", "tables/table/lose", ""); status != http.StatusMethodNotAllowed {
		t.Errorf("GET of lose: %d", status)
	}
}
