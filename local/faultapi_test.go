package local_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/leatstream/leat/local"
)

// faults makes a call to the server's faults, and returns status and answer.
func (f *fixture) faults(method, body string) (int, string) {
	answer := httptest.NewRecorder()
	f.server.ServeHTTP(answer, httptest.NewRequest(method, "/_leat/faults", strings.NewReader(body)))
	return answer.Code, strings.TrimSpace(answer.Body.String())
}

func TestFaultsOverHTTP(t *testing.T) {
	t.Parallel()
	f := start(t, local.Config{Unlimited: true})
	f.create("s", 1)
	expect := func(method, body, want string) {
		t.Helper()
		if status, answer := f.faults(method, body); status != http.StatusOK || answer != want {
			t.Errorf("%s: %d %s, want %s", method, status, answer, want)
		}
	}
	const none = `{"seed":0,"rules":[]}`
	expect("GET", "", none)
	const rules = `{"seed":7,"rules":[{"kind":"delay","op":"PutRecord","share":0.5,"delay":"1.5s"},` +
		`{"kind":"throttle","op":"GetRecords","shard":"shardId-000000000000","share":1,"count":2}]}`
	expect("POST", rules, rules)
	expect("GET", "", rules)
	if got := f.calls(4, "shardId-000000000000"); count(got, "ProvisionedThroughputExceededException") != 2 || got[3] != "ok" {
		t.Errorf("calls: %q, want two throttled, then none", got)
	}
	expect("DELETE", "", none)
	expect("POST", `{"rules":[{"kind":"error"}]}`, `{"seed":0,"rules":[{"kind":"error","share":1}]}`)
	f.faults("DELETE", "")

	for body, want := range map[string]string{
		``:                                `no JSON value`,
		`{"sed":1}`:                       `unknown field "sed"`,
		`{"seed":-1}`:                     `seed: `,
		`{"rules":[{"kind":"slow"}]}`:     `rules[0]: kind: "slow" is none of ["delay" `,
		`{"rules":[{"op":"GetRecords"}]}`: `rules[0]: kind: `,
		`{"rules":[{"kind":"error"},{"kind":"error","ops":"x"}]}`: `rules[1]: unknown field "ops"`,
		`{"rules":[{"kind":"error","op":"Get"}]}`:                 `rules[0]: op: "Get"`,
		`{"rules":[{"kind":"error","share":1.5}]}`:                `rules[0]: share: 1.5`,
		`{"rules":[{"kind":"error","share":"all"}]}`:              `rules[0]: share: a JSON string`,
		`{"rules":[{"kind":"error","count":-1}]}`:                 `rules[0]: count: -1`,
		`{"rules":[{"kind":"delay"}]}`:                            `rules[0]: delay: ""`,
		`{"rules":[{"kind":"delay","delay":"5"}]}`:                `rules[0]: delay: "5"`,
		`{"rules":[{"kind":"error","delay":"5s"}]}`:               `rules[0]: delay: `,
		`{"rules":[]} {}`:                                         `more than one`,
	} {
		if status, answer := f.faults("POST", body); status != http.StatusBadRequest || !strings.Contains(answer, want) {
			t.Errorf("%s: %d %s, want %s", body, status, answer, want)
		}
	}
	expect("GET", "", none) // a refusal changes nothing
	answer := httptest.NewRecorder()
	f.server.ServeHTTP(answer, httptest.NewRequest("POST", "/_leat/dynamodb/faults", strings.NewReader(`{"rules":[{"kind":"stale","delay":"2s"}]}`)))
	if answer.Code != http.StatusOK {
		t.Errorf("DynamoDB's faults: %d %s", answer.Code, answer.Body)
	}
	expect("GET", "", none) // they are others
	if status, _ := f.faults("PUT", rules); status != http.StatusMethodNotAllowed {
		t.Errorf("PUT: %d", status)
	}
}
