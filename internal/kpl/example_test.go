package kpl_test

import (
	"fmt"

	"github.com/leatstream/leat/internal/kpl"
	"github.com/leatstream/leat/internal/record"
	"github.com/leatstream/leat/lease"
)

// A checkpoint inside of an aggregated record resumes inside of it.
func Example() {
	together := kpl.NewAggregator(kpl.MaxSize)
	for _, reading := range []string{"21.5", "21.7", "21.6"} {
		if _, err := together.Add("sensor-7", "", []byte(reading)); err != nil {
			fmt.Println(err)
		}
	}
	key, _ := together.Keys()
	read := record.Record{SequenceNumber: "4957", PartitionKey: key, Data: together.Finish()}

	checkpoint, _ := lease.AfterSequence("4957", 0) // the first user record was handled
	if !kpl.Is(read.Data) {
		fmt.Println("a plain record")
		return
	}
	a, err := kpl.Open(read.Data, 0)
	if err != nil {
		fmt.Println("delivered as a plain record:", err)
		return
	}
	if sequence, sub, _ := checkpoint.Sequence(); sequence == read.SequenceNumber {
		a.SkipThrough(sub)
	}
	for user := read; a.Next(&user); {
		position, _ := user.Position()
		fmt.Printf("%v %s %s\n", position, user.PartitionKey, user.Data)
	}
	// Output:
	// 4957/1 sensor-7 21.7
	// 4957/2 sensor-7 21.6
}
