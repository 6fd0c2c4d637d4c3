// Smallest is the program of the README: run it beside itself, as often as you like.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/leatstream/leat"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	err := leat.Run(ctx, leat.Config{
		Group:    "billing",
		Stream:   "orders",
		Endpoint: os.Getenv("LEAT_ENDPOINT"), // empty: AWS
		Handler: leat.HandlerFunc(func(ctx context.Context, r *leat.Record) error {
			fmt.Printf("%s %s\n", r.PartitionKey, r.Data)
			return nil
		}),
	})
	if err != nil {
		log.Fatal(err)
	}
}
