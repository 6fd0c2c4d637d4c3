package local

import (
	"fmt"
	"slices"
	"sort"
	"strings"
)

// The limits of tags (API pages of AddTagsToStream and Tag).
const (
	maxTags     = 50
	maxTagKey   = 128 // characters
	maxTagValue = 256 // characters
)

// tagPattern is what keys and values consist of (TagResource's API page).
var tagPattern = newPattern(`[\p{L}\p{N}\p{Z}_.:/=+\-@]*`)

type tag struct {
	Key   string
	Value string
}

// checkTags applies the rules that need no state.
func checkTags(v *violations, tags map[string]string) {
	keys := make([]string, 0, len(tags))
	for key := range tags {
		keys = append(keys, key)
	}
	sort.Strings(keys) // the map's order must not show in the message
	for _, key := range keys {
		checkTagKey(v, key, "tags")
		v.atMost(tags[key], "tags."+key+".member", maxTagValue)
	}
}

func checkTagKey(v *violations, key, member string) {
	v.want(key != "", key, member, "Member must have length greater than or equal to 1")
	v.atMost(key, member, maxTagKey)
}

// checkTagText checks the characters of keys and values.
func checkTagText(texts ...string) error {
	for _, text := range texts {
		if !tagPattern.re.MatchString(text) {
			return invalidArgument("Some tags contain invalid characters. " +
				"Valid characters: Unicode letters, digits, white space, _ . : / = + - @.")
		}
	}
	return nil
}

// tag adds tags to a stream, all or none.
func (s *Server) tag(m *stream, tags map[string]string) error {
	count := len(m.tags)
	for key, value := range tags {
		if err := checkTagText(key, value); err != nil {
			return err
		}
		// AWS, "Tag restrictions": the prefix is reserved.
		if strings.HasPrefix(strings.ToLower(key), "aws:") {
			return invalidArgument("Tag keys that start with aws: are reserved for AWS.")
		}
		if _, ok := m.tags[key]; !ok {
			count++
		}
	}
	if count > maxTags {
		return invalidArgument("Failed to add tags to stream %s under account %s because a given stream cannot have more than %d tags associated with it.",
			m.name, s.config.Account, maxTags)
	}
	for key, value := range tags {
		m.tags[key] = value
	}
	return nil
}

// findTaggable is find for changes of tags, which only an active stream takes
// (CreateStream's API page).
func (s *Server) findTaggable(t target) (*stream, error) {
	m, err := s.find(t, s.now())
	if err == nil && m.status != active {
		err = s.notActive(m)
	}
	return m, err
}

type addTagsToStreamRequest struct {
	target
	Tags map[string]string
}

func (s *Server) addTagsToStream(r *addTagsToStreamRequest) (*none, error) {
	var v violations
	r.check(&v)
	v.want(len(r.Tags) > 0, nil, "tags", "Member must not be null")
	checkTags(&v, r.Tags)
	if err := v.err(); err != nil {
		return nil, err
	}
	m, err := s.findTaggable(r.target)
	if err != nil {
		return nil, err
	}
	if err := s.tag(m, r.Tags); err != nil {
		return nil, err
	}
	return &none{}, nil
}

type removeTagsFromStreamRequest struct {
	target
	TagKeys []string
}

func (s *Server) removeTagsFromStream(r *removeTagsFromStreamRequest) (*none, error) {
	var v violations
	r.check(&v)
	v.want(len(r.TagKeys) > 0, nil, "tagKeys", "Member must not be null")
	// The most in one call, as for adding (RemoveTagsFromStream's API page).
	v.want(len(r.TagKeys) <= maxTags, "[...]", "tagKeys",
		fmt.Sprintf("Member must have length less than or equal to %d", maxTags))
	for i, key := range r.TagKeys {
		checkTagKey(&v, key, fmt.Sprintf("tagKeys.%d.member", i+1))
	}
	if err := v.err(); err != nil {
		return nil, err
	}
	m, err := s.findTaggable(r.target)
	if err != nil {
		return nil, err
	}
	if err := checkTagText(r.TagKeys...); err != nil {
		return nil, err
	}
	for _, key := range r.TagKeys {
		delete(m.tags, key) // one that does not exist is ignored, says the API page
	}
	return &none{}, nil
}

type listTagsForStreamRequest struct {
	target
	ExclusiveStartTagKey string
	Limit                *int32
}

type listTagsForStreamAnswer struct {
	Tags        []tag
	HasMoreTags bool
}

func (s *Server) listTagsForStream(r *listTagsForStreamRequest) (*listTagsForStreamAnswer, error) {
	var v violations
	r.check(&v)
	v.atMost(r.ExclusiveStartTagKey, "exclusiveStartTagKey", maxTagKey)
	v.between(r.Limit, "limit", 1, maxTags)
	if err := v.err(); err != nil {
		return nil, err
	}
	m, err := s.find(r.target, s.now())
	if err != nil {
		return nil, err
	}
	answer := &listTagsForStreamAnswer{Tags: []tag{}}
	for key, value := range m.tags {
		if key > r.ExclusiveStartTagKey {
			answer.Tags = append(answer.Tags, tag{key, value})
		}
	}
	slices.SortFunc(answer.Tags, func(a, b tag) int { return strings.Compare(a.Key, b.Key) })
	if r.Limit != nil && len(answer.Tags) > int(*r.Limit) {
		answer.Tags, answer.HasMoreTags = answer.Tags[:*r.Limit], true
	}
	return answer, nil
}

// The same again by the ARN of a resource, of which streams are the only kind
// here.

type tagResourceRequest struct {
	ResourceARN string
	Tags        map[string]string
}

func (s *Server) tagResource(r *tagResourceRequest) (*none, error) {
	t, err := resource(r.ResourceARN)
	if err != nil {
		return nil, err
	}
	return s.addTagsToStream(&addTagsToStreamRequest{t, r.Tags})
}

type untagResourceRequest struct {
	ResourceARN string
	TagKeys     []string
}

func (s *Server) untagResource(r *untagResourceRequest) (*none, error) {
	t, err := resource(r.ResourceARN)
	if err != nil {
		return nil, err
	}
	return s.removeTagsFromStream(&removeTagsFromStreamRequest{t, r.TagKeys})
}

type listTagsForResourceRequest struct {
	ResourceARN string
}

type listTagsForResourceAnswer struct {
	Tags []tag
}

func (s *Server) listTagsForResource(r *listTagsForResourceRequest) (*listTagsForResourceAnswer, error) {
	t, err := resource(r.ResourceARN)
	if err != nil {
		return nil, err
	}
	all, err := s.listTagsForStream(&listTagsForStreamRequest{target: t})
	if err != nil {
		return nil, err
	}
	return &listTagsForResourceAnswer{all.Tags}, nil
}

// resource is the stream that a ResourceARN names.
func resource(arn string) (target, error) {
	var v violations
	v.required(arn, "resourceARN")
	v.matches(arn, "resourceARN", arnPattern)
	return target{StreamARN: arn}, v.err()
}
