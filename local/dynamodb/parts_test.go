package dynamodb

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestCanonical(t *testing.T) {
	nines := strings.Repeat("9", 38)
	for text, want := range map[string]string{
		"0": "0", "-0": "0", "0.00": "0", "+1": "1", "007": "7", "1.50": "1.5", ".5": "0.5", "5.": "5", "-1.20e1": "-12",
		"1e3": "1000", "123e-2": "1.23", "1e-3": "0.001", "12.34E+1": "123.4", nines: nines, nines + "000": nines + "000",
		"1e125": "1" + strings.Repeat("0", 125), "1e-130": "0." + strings.Repeat("0", 129) + "1",
	} {
		if got, err := canonical(text); err != nil || got != want {
			t.Errorf("%s is %s (%v), want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "-", ".", "e1", "1e", "1 ", "0x1", "1_0", "--1", "1.2.3", "NaN", "Infinity", nines + "9", "1e126", "1e-131", "1e99999999999"} {
		if got, err := canonical(text); err == nil {
			t.Errorf("%q is %s, want an error", text, got)
		}
	}
}

func TestCompareNumbers(t *testing.T) {
	ordered := []string{"-100", "-1.5", "-1", "-0.001", "0", "0.0001", "0.5", "1", "2", "10", "100"}
	for i, a := range ordered {
		for k, b := range ordered {
			if got := compareNumbers(a, b); (got < 0) != (i < k) || (got > 0) != (i > k) {
				t.Errorf("%s against %s: %d", a, b, got)
			}
		}
	}
}

// FuzzExpression: whatever the text, a condition and an update are parsed or refused; what is parsed holds for an
// item or not, and is not both true and false.
func FuzzExpression(f *testing.F) {
	for _, text := range []string{
		"#a = :n AND attribute_not_exists(#b)", "SET #a = :n, #b = #a REMOVE #c", "NOT (#a BETWEEN :n AND :n OR begins_with(#b, :s))", "((#a=:n))", "#a IN (:n)", "SET #a = if_not_exists(#a, :n)", "",
	} {
		f.Add(text)
	}
	names := map[string]string{"#a": "a", "#b": "b", "#c": "c"}
	values := map[string]value{":n": {kind: "N", text: "1"}, ":s": {kind: "S", text: "x"}, ":m": {kind: "M"}}
	it := item{"a": {kind: "N", text: "1"}, "b": {kind: "S", text: "xyz"}}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := newParser(names, values).condition(&text)
		if (e == nil) == (err == nil) && err == nil {
			t.Fatal("neither a condition nor an error")
		}
		if err == nil {
			e.holds(nil)
			not := expr{op: "not", args: []expr{*e}}
			if e.holds(it) == not.holds(it) {
				t.Errorf("%s and its opposite are the same", text)
			}
		}
		u, err := newParser(names, values).update(&text)
		if err == nil {
			if out, err := u.apply(it); err == nil {
				for name := range u.set {
					if _, ok := out[name]; !ok {
						t.Errorf("%s did not set %s", text, name)
					}
				}
			}
		}
	})
}

// FuzzValue: what is read comes back as it was.
func FuzzValue(f *testing.F) {
	for _, text := range []string{
		`{"S":"x"}`, `{"N":"1.50"}`, `{"B":"AAE="}`, `{"BOOL":true}`, `{"NULL":true}`, `{"SS":["a","b"]}`, `{"NS":["1","2"]}`, `{"BS":["AA=="]}`,
		`{"L":[{"S":"<"},{"L":[]}]}`, `{"M":{"a":{"M":{}}}}`, `{"SS":[]}`, `{}`, `{"S":"x","N":"1"}`, `{"X":1}`, `null`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var v, again value
		if json.Unmarshal(text, &v) != nil || v.kind == "" { // encoding/json does not ask for null
			return
		}
		encoded, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(encoded, &again); err != nil || !v.equal(again) || v.size() != again.size() {
			t.Errorf("%s comes back as %s: %v", text, encoded, err)
		}
	})
}
