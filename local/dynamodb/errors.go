package dynamodb

import (
	"fmt"
	"net/http"
)

// apiError is an error as the service reports it.
type apiError struct {
	kind    string // the exception's full name, sent as __type
	message string
	status  int  // of the HTTP answer
	item    item // as it stands; with a failed condition, if it was asked for
}

func (e *apiError) Error() string { return e.kind + ": " + e.message }

func failure(kind, format string, args ...any) error {
	return &apiError{kind: "com.amazonaws.dynamodb.v20120810#" + kind, message: fmt.Sprintf(format, args...), status: http.StatusBadRequest}
}

// invalid is a request that the service would not accept.
func invalid(format string, args ...any) error {
	return &apiError{kind: "com.amazon.coral.validate#ValidationException", message: fmt.Sprintf(format, args...), status: http.StatusBadRequest}
}

// unsupported is a request that the service would accept, and this server does not.
func unsupported(format string, args ...any) error {
	return invalid("leat's local DynamoDB does not know "+format, args...)
}

func tableNotFound() error {
	return failure("ResourceNotFoundException", "Requested resource not found")
}

func conditionFailed() *apiError {
	return failure("ConditionalCheckFailedException", "The conditional request failed").(*apiError)
}
