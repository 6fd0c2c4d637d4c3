package deadletter_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/leatstream/leat"
	"github.com/leatstream/leat/deadletter"
)

// With leat.Config.DeadLetter a group does this itself: see leat.Retry.
func ExampleFile() {
	dir, err := os.MkdirTemp("", "leat")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "failed.ndjson")

	record := &leat.Record{Stream: "orders", PartitionKey: "table 4", Data: []byte("stone"), Attempt: 3}
	if err := deadletter.File(path).Send(context.Background(), record, errors.New("not on the menu")); err != nil {
		log.Fatal(err)
	}
	line, err := os.ReadFile(path)
	if err != nil {
		log.Fatal(err)
	}
	var letter struct {
		Error   string
		Attempt int
		Record  struct{ PartitionKey, Data string }
	}
	if err := json.Unmarshal(line, &letter); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s of %s: %s, attempt %d\n", letter.Record.Data, letter.Record.PartitionKey, letter.Error, letter.Attempt)
	// Output: stone of table 4: not on the menu, attempt 3
}
