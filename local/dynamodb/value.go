package dynamodb

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
)

// value is an attribute's value. kind is its type as it stands on the wire.
type value struct {
	kind   string
	text   string   // S; N, canonical; B, its bytes
	flag   bool     // BOOL
	set    []string // SS, NS and BS, each as text
	list   []value  // L
	fields item     // M
}

// item is an item, or a part of one, or a key. Values are never changed in place.
type item map[string]value

// UnmarshalJSON reads a value as it stands on the wire, and checks it.
func (v *value) UnmarshalJSON(b []byte) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(b, &members); err != nil {
		return err
	}
	if len(members) != 1 {
		return invalid("Supplied AttributeValue has %d members, must contain exactly one of the supported datatypes", len(members))
	}
	for kind, raw := range members {
		v.kind = kind
		return v.read(raw)
	}
	return nil
}

func (v *value) read(raw []byte) (err error) {
	switch v.kind {
	case "S":
		return json.Unmarshal(raw, &v.text)
	case "N", "B":
		if err := json.Unmarshal(raw, &v.text); err != nil {
			return err
		}
		v.text, err = scalar(v.kind, v.text)
		return err
	case "BOOL":
		return json.Unmarshal(raw, &v.flag)
	case "NULL":
		if string(raw) != "true" {
			return invalid("One or more parameter values were invalid: Null attribute value types must have the value of true")
		}
		return nil
	case "SS", "NS", "BS":
		if err := json.Unmarshal(raw, &v.set); err != nil {
			return err
		}
		if len(v.set) == 0 {
			return invalid("One or more parameter values were invalid: An %s set may not be empty", v.kind[:1])
		}
		for i := range v.set {
			if v.set[i], err = scalar(v.kind[:1], v.set[i]); err != nil {
				return err
			}
		}
		if sorted := slices.Sorted(slices.Values(v.set)); len(slices.Compact(sorted)) != len(v.set) {
			return invalid("One or more parameter values were invalid: Input collection %v contains duplicates.", v.set)
		}
		return nil
	case "L":
		return json.Unmarshal(raw, &v.list)
	case "M":
		return json.Unmarshal(raw, &v.fields)
	}
	return invalid("Supplied AttributeValue has the unknown datatype %q", v.kind)
}

// scalar returns a number or bytes as they are kept.
func scalar(kind, text string) (string, error) {
	switch kind {
	case "N":
		return canonical(text)
	case "B":
		b, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return "", &apiError{kind: "com.amazon.coral.service#SerializationException", message: "no base64: " + err.Error(), status: 400}
		}
		return string(b), nil
	}
	return text, nil
}

// MarshalJSON writes the value as it stands on the wire.
func (v value) MarshalJSON() ([]byte, error) {
	var content any
	switch v.kind {
	case "S", "N":
		content = v.text
	case "B":
		content = []byte(v.text)
	case "BOOL":
		content = v.flag
	case "NULL":
		content = true
	case "SS", "NS":
		content = v.set
	case "BS":
		set := make([][]byte, len(v.set))
		for i, s := range v.set {
			set[i] = []byte(s)
		}
		content = set
	case "L":
		content = append([]value{}, v.list...) // never null
	case "M":
		content = v.fields
		if v.fields == nil {
			content = item{}
		}
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(map[string]any{v.kind: content})
	return b.Bytes(), err
}

// equal says whether two values are the same. The order of a set does not count.
func (v value) equal(o value) bool {
	if v.kind != o.kind || v.text != o.text || v.flag != o.flag || len(v.set) != len(o.set) || len(v.fields) != len(o.fields) {
		return false
	}
	for name, field := range v.fields {
		if other, ok := o.fields[name]; !ok || !field.equal(other) {
			return false
		}
	}
	return slices.Equal(slices.Sorted(slices.Values(v.set)), slices.Sorted(slices.Values(o.set))) &&
		slices.EqualFunc(v.list, o.list, value.equal)
}

// ordered says whether values of this type can be compared.
func (v value) ordered() bool { return v.kind == "S" || v.kind == "N" || v.kind == "B" }

// compare orders two values of one ordered type: texts and bytes by their bytes.
func (v value) compare(o value) int {
	if v.kind == "N" {
		return compareNumbers(v.text, o.text)
	}
	return strings.Compare(v.text, o.text)
}

// size is what a value counts for (DynamoDB developer guide, "DynamoDB item sizes and formats").
func (v value) size() int {
	total := 0
	switch v.kind {
	case "N":
		return numberSize(v.text)
	case "BOOL", "NULL":
		return 1
	case "NS":
		for _, n := range v.set {
			total += numberSize(n)
		}
	case "SS", "BS":
		for _, s := range v.set {
			total += len(s)
		}
	case "L":
		total = 3
		for _, e := range v.list {
			total += 1 + e.size()
		}
	case "M":
		total = 3 + len(v.fields) + v.fields.size()
	default:
		total = len(v.text)
	}
	return total
}

func (it item) size() int {
	total := 0
	for name, v := range it {
		total += len(name) + v.size()
	}
	return total
}

// readUnits is what reading so many bytes costs.
func readUnits(bytes int, consistent bool) float64 {
	units := float64(max(1, (bytes+4095)/4096))
	if !consistent {
		units /= 2
	}
	return units
}

// writeUnits is what writing over an item costs; either may be nil.
func writeUnits(old, written item) float64 {
	return float64(max(1, (max(old.size(), written.size())+1023)/1024))
}

// capacity is what a call tells of its cost, if it was asked to.
type capacity struct {
	TableName     string
	CapacityUnits float64
}

func tell(asked, table string, units float64) *capacity {
	if cmp.Or(asked, "NONE") == "NONE" {
		return nil
	}
	return &capacity{table, units}
}
