package dynamodb

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	jsonType = "application/x-amz-json-1.0"

	// maxBody bounds a request's body: the service's 1 MB for items of 400 KB, with room.
	maxBody = 4 << 20
)

// errDropped stands for an answer that a fault took away.
var errDropped = errors.New("local: connection broken by a fault on demand")

// reply is an HTTP answer before it is written anywhere.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// reply answers one request. Its error is that of ctx, or errDropped; all others are answers.
func (s *Server) reply(ctx context.Context, header http.Header, body []byte) (reply, error) {
	answer, err := s.call(ctx, header.Get("X-Amz-Target"), body)
	status := http.StatusOK
	if refusal := (*apiError)(nil); errors.As(err, &refusal) {
		members := map[string]any{"__type": refusal.kind, "message": refusal.message}
		if refusal.item != nil {
			members["Item"] = refusal.item
		}
		status, answer, err = refusal.status, members, nil
	}
	if err != nil {
		return reply{}, err
	}
	encoded, err := json.Marshal(answer)
	if err != nil {
		return reply{}, fmt.Errorf("local: encoding an answer: %w", err)
	}
	h := make(http.Header, 5)
	h.Set("Content-Type", jsonType)
	h.Set("Content-Length", strconv.Itoa(len(encoded)))
	h.Set("Date", s.config.Now().UTC().Format(http.TimeFormat))
	h.Set("X-Amz-Crc32", strconv.FormatUint(uint64(crc32.ChecksumIEEE(encoded)), 10))
	h.Set("X-Amzn-Requestid", fmt.Sprintf("%026d", s.requests.Add(1)))
	return reply{status, h, encoded}, nil
}

// call decodes and carries out one request, under the faults.
func (s *Server) call(ctx context.Context, target string, body []byte) (any, error) {
	name, ours := strings.CutPrefix(target, TargetPrefix)
	o, known := operations[name]
	if !ours || !known {
		return nil, &apiError{kind: "com.amazon.coral.service#UnknownOperationException", message: fmt.Sprintf("Operation %q is not known here.", target), status: http.StatusBadRequest}
	}
	request := o.newRequest()
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(request); err != nil {
		if refusal := (*apiError)(nil); errors.As(err, &refusal) {
			return nil, refusal
		}
		if member, unknown := strings.CutPrefix(err.Error(), "json: unknown field "); unknown {
			return nil, unsupported("the member %s of %s", member, name)
		}
		return nil, &apiError{kind: "com.amazon.coral.service#SerializationException", message: err.Error(), status: http.StatusBadRequest}
	}
	fate := s.fate(name)
	if fate.delay > 0 {
		timer := time.NewTimer(fate.delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	switch fate.kind {
	case Hang:
		<-ctx.Done()
		return nil, context.Cause(ctx)
	case DropRequest:
		return nil, errDropped
	case Late:
		time.AfterFunc(fate.late, func() { s.run(name, request, fate) })
		return nil, errDropped
	}
	if fate.err != nil {
		return nil, fate.err
	}
	answer, err := s.run(name, request, fate)
	if fate.kind == DropAnswer {
		return nil, errDropped
	}
	return answer, err
}

// ServeHTTP answers one call of the DynamoDB API. An answer that a fault drops ends in
// panic(http.ErrAbortHandler), which is how a handler breaks its connection.
//
// Under ControlPath it takes what tests do to it. At faults it shows (GET), replaces (POST) and clears (DELETE) the faults, see
// SetFaults, as JSON: {"seed": 1, "rules": [{"kind": "stale", "op": "Query", "share": 0.5, "delay": "2s"}]}; a rule's members
// are those of [Fault], share is 1 if it is absent. A POST to tables/NAME/backup keeps a copy of a table in the place of
// the one before, to tables/NAME/lose takes the table away, and to tables/NAME/restore puts it back as the copy has it; each
// answers {"table": NAME, "items": N}, or 404.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, ControlPath) {
		s.controls.ServeHTTP(w, r)
		return
	}
	// The body is read to its end before anything is answered: the AWS SDK for Go takes an early answer
	// for a broken connection.
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		http.Error(w, "Request body exceeds the limit.", http.StatusRequestEntityTooLarge)
		return
	}
	if err != nil {
		panic(http.ErrAbortHandler) // the client is gone
	}
	answer, err := s.reply(r.Context(), r.Header, body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	for name, values := range answer.header {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.status)
	w.Write(answer.body) // an error means that the client is gone
}
