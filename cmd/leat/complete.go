package main

import (
	"context"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/spf13/cobra"
)

// completionTime bounds what a person waits for at a prompt.
const completionTime = 2 * time.Second

// completeStream completes the argument STREAM with the names of the streams that --endpoint, --region and --profile
// lead to. It is silent about errors: the command itself tells them. What comes after STREAM is completed as
// then says.
func completeStream(then cobra.ShellCompDirective) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, then
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
		defer cancel()
		value := func(flag string) string { return cmd.Flag(flag).Value.String() }
		at := connection{endpoint: value("endpoint"), region: value("region"), profile: value("profile")}
		names, _ := at.streams(ctx, begun) // those that came before an error
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// streams lists the names that begin so.
func (c *connection) streams(ctx context.Context, begin string) (names []string, err error) {
	if err := c.resolve(); err != nil {
		return nil, err
	}
	client, err := c.client(ctx)
	if err != nil {
		return nil, err
	}
	once := func(o *kinesis.Options) { o.Retryer = aws.NopRetryer{} } // a prompt does not wait for tries
	pages := kinesis.NewListStreamsPaginator(client, &kinesis.ListStreamsInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx, once)
		if err != nil {
			return names, err
		}
		for _, name := range page.StreamNames {
			if strings.HasPrefix(name, begin) {
				names = append(names, name)
			}
		}
	}
	return names, nil
}
