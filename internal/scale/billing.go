package scale

import (
	"strings"

	"github.com/leatstream/leat/lease"
)

// Prices on demand of the standard table class in us-east-1, dollars for a million request units, since November 2024
// (aws.amazon.com/dynamodb/pricing/on-demand; the price list of 2026-09-11 still has them). Storage, below one cent a
// month here, is left out.
const (
	dollarsPerMillionWrites = 0.625
	dollarsPerMillionReads  = 0.125
)

// minutesPerMonth is 730 hours, as price calculators count a month.
const minutesPerMonth = 730 * 60

// Units of DynamoDB's bill (developer guide, "DynamoDB read and write operations").
const (
	writeUnit = 1 << 10 // bytes of an item, each write rounded up
	readUnit  = 4 << 10 // bytes of a page's items together, rounded up; half the price if eventually consistent
	pageSize  = 1 << 20 // bytes after which a Query ends its page
)

func roundUp(bytes, unit int) float64 { return float64(max(1, (bytes+unit-1)/unit)) }

// readUnits are those of a page of so many bytes.
func readUnits(bytes int, consistent bool) float64 {
	units := roundUp(bytes, readUnit)
	if !consistent {
		units /= 2
	}
	return units
}

// writeUnits are the units of a write, also of one that is refused: the larger of the item before and after counts.
func writeUnits(before, after int) float64 { return roundUp(max(before, after), writeUnit) }

// groupName is the hash key's value. The names of the two key attributes are store/dynamo's.
const (
	groupName = "billing"
	keyNames  = len("group") + len("item")
)

// itemSize is the size of an item in store/dynamo's table (developer guide, "DynamoDB item sizes and formats"). A test
// compares the units that follow from it with those that local/dynamodb counts.
func itemSize(item lease.Item) int {
	key := item.Key.String()
	if item.Key.Kind == lease.KindControl {
		key = "workers"
	}
	size := keyNames + len(groupName) + len(key)
	for name, value := range item.Attributes() {
		size += len(name)
		switch v := value.(type) {
		case string:
			size += len(v)
		case lease.Number: // a byte for two significant digits, and one
			size += 1 + (len(strings.Trim(string(v), "0"))+1)/2
		case bool:
			size++
		case []string:
			for _, s := range v {
				size += len(s)
			}
		}
	}
	return size
}
