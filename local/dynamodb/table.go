package dynamodb

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"
)

// table is a table and its items.
type table struct {
	name, id string
	hash     string // name of the hash key
	sort     string // name of the range key; "" if there is none
	items    rows

	created    time.Time
	ready      time.Time // until then it is CREATING
	gone       time.Time // if not zero, it is DELETING until then
	read, made int64     // provisioned read and write units; 0 is on demand
	protected  bool
	backups    bool // point-in-time recovery
	tags       []tag
}

type tag struct{ Key, Value string }

type keySchema struct{ AttributeName, KeyType string }

type attributeDefinition struct{ AttributeName, AttributeType string }

type throughput struct{ ReadCapacityUnits, WriteCapacityUnits int64 }

type createTableRequest struct {
	TableName                 string
	KeySchema                 []keySchema
	AttributeDefinitions      []attributeDefinition
	BillingMode               string
	ProvisionedThroughput     *throughput
	DeletionProtectionEnabled bool
	Tags                      []tag
}

// tableRequest is that of every operation that only names a table.
type tableRequest struct{ TableName string }

type description struct {
	TableName, TableId, TableArn, TableStatus string
	KeySchema                                 []keySchema
	AttributeDefinitions                      []attributeDefinition
	CreationDateTime                          float64
	ItemCount, TableSizeBytes                 int64
	BillingModeSummary                        map[string]string
	ProvisionedThroughput                     throughput
	DeletionProtectionEnabled                 bool
}

var tableName = regexp.MustCompile(`^[a-zA-Z0-9_.-]{3,255}$`)

func (s *Server) createTable(c *call, r *createTableRequest) (any, error) {
	t := &table{name: r.TableName, created: c.now, ready: c.now.Add(s.config.Transition), protected: r.DeletionProtectionEnabled, tags: r.Tags}
	if !tableName.MatchString(r.TableName) {
		return nil, invalid("TableName %q is not 3 to 255 of a-z, A-Z, 0-9, '_', '-' and '.'", r.TableName)
	}
	switch mode := cmp.Or(r.BillingMode, "PROVISIONED"); {
	case mode == "PAY_PER_REQUEST" && r.ProvisionedThroughput == nil:
	case mode == "PROVISIONED" && r.ProvisionedThroughput != nil &&
		r.ProvisionedThroughput.ReadCapacityUnits > 0 && r.ProvisionedThroughput.WriteCapacityUnits > 0:
		t.read, t.made = r.ProvisionedThroughput.ReadCapacityUnits, r.ProvisionedThroughput.WriteCapacityUnits
	default:
		return nil, invalid("One or more parameter values were invalid: BillingMode %s and ProvisionedThroughput %v do not go together", mode, r.ProvisionedThroughput)
	}
	for i, key := range r.KeySchema {
		switch {
		case i == 0 && key.KeyType == "HASH":
			t.hash = key.AttributeName
		case i == 1 && key.KeyType == "RANGE" && key.AttributeName != t.hash:
			t.sort = key.AttributeName
		default:
			return nil, invalid("Invalid KeySchema: %v", r.KeySchema)
		}
	}
	defined := map[string]string{}
	for _, d := range r.AttributeDefinitions {
		defined[d.AttributeName] = d.AttributeType
		if d.AttributeType != "S" {
			return nil, unsupported("keys of type %s", d.AttributeType)
		}
	}
	if t.hash == "" || len(defined) != len(t.keys()) || defined[t.hash] == "" || t.sort != "" && defined[t.sort] == "" {
		return nil, invalid("One or more parameter values were invalid: KeySchema %v and AttributeDefinitions %v do not match", r.KeySchema, r.AttributeDefinitions)
	}
	if s.find(c, r.TableName) != nil {
		return nil, failure("ResourceInUseException", "Table already exists: %s", r.TableName)
	}
	s.add(t)
	return map[string]any{"TableDescription": s.describe(c, t)}, nil
}

// add puts a new table in place, under an id that no table has had.
func (s *Server) add(t *table) {
	s.ids++
	t.id = fmt.Sprintf("%08x-0000-4000-8000-%012x", s.ids, t.created.UnixMilli())
	s.tables[t.name] = t
}

// keys are the names of the key's attributes.
func (t *table) keys() []string {
	if t.sort == "" {
		return []string{t.hash}
	}
	return []string{t.hash, t.sort}
}

// find returns the table of this name, in whatever state, or nil.
func (s *Server) find(c *call, name string) *table {
	t := s.tables[name]
	if t != nil && !t.gone.IsZero() && !c.now.Before(t.gone) {
		delete(s.tables, name)
		return nil
	}
	return t
}

// active returns a table that can be read and written.
func (s *Server) active(c *call, name string) (*table, error) {
	t := s.find(c, name)
	if t == nil || !t.gone.IsZero() || c.now.Before(t.ready) {
		return nil, tableNotFound()
	}
	return t, nil
}

func (s *Server) arn(table string) string {
	return fmt.Sprintf("arn:aws:dynamodb:%s:%s:table/%s", s.config.Region, s.config.Account, table)
}

func (s *Server) describe(c *call, t *table) description {
	d := description{
		TableName: t.name, TableId: t.id, TableArn: s.arn(t.name), TableStatus: "ACTIVE",
		CreationDateTime:          float64(t.created.UnixMilli()) / 1000,
		BillingModeSummary:        map[string]string{"BillingMode": "PROVISIONED"},
		ProvisionedThroughput:     throughput{t.read, t.made},
		DeletionProtectionEnabled: t.protected,
	}
	switch {
	case !t.gone.IsZero():
		d.TableStatus = "DELETING"
	case c.now.Before(t.ready):
		d.TableStatus = "CREATING"
	}
	if t.made == 0 {
		d.BillingModeSummary["BillingMode"] = "PAY_PER_REQUEST"
	}
	for i, name := range t.keys() {
		d.KeySchema = append(d.KeySchema, keySchema{name, []string{"HASH", "RANGE"}[i]})
		d.AttributeDefinitions = append(d.AttributeDefinitions, attributeDefinition{name, "S"})
	}
	for _, r := range t.items {
		if r.now != nil {
			d.ItemCount++
			d.TableSizeBytes += int64(r.now.size())
		}
	}
	return d
}

func (s *Server) describeTable(c *call, r *tableRequest) (any, error) {
	t := s.find(c, r.TableName)
	if t == nil {
		return nil, failure("ResourceNotFoundException", "Requested resource not found: Table: %s not found", r.TableName)
	}
	return map[string]any{"Table": s.describe(c, t)}, nil
}

func (s *Server) deleteTable(c *call, r *tableRequest) (any, error) {
	t := s.find(c, r.TableName)
	switch {
	case t == nil:
		return nil, failure("ResourceNotFoundException", "Requested resource not found: Table: %s not found", r.TableName)
	case t.protected:
		return nil, invalid("Resource cannot be deleted as it is currently protected against deletion. Disable deletion protection first.")
	case !t.gone.IsZero() || c.now.Before(t.ready):
		return nil, failure("ResourceInUseException", "Attempt to change a resource which is still in use: Table is being created or deleted: %s", r.TableName)
	}
	t.gone = c.now.Add(s.config.Transition)
	return map[string]any{"TableDescription": s.describe(c, t)}, nil
}

func (s *Server) listTables(c *call, _ *struct{}) (any, error) {
	names := []string{}
	for _, name := range slices.Sorted(maps.Keys(s.tables)) {
		if s.find(c, name) != nil {
			names = append(names, name)
		}
	}
	return map[string]any{"TableNames": names}, nil
}

type listTagsRequest struct{ ResourceArn string }

func (s *Server) listTags(c *call, r *listTagsRequest) (any, error) {
	for _, t := range s.tables {
		if s.arn(t.name) == r.ResourceArn && s.find(c, t.name) != nil {
			return map[string]any{"Tags": append([]tag{}, t.tags...)}, nil
		}
	}
	return nil, failure("ResourceNotFoundException", "Requested resource not found: ResourcArn: %s not found", r.ResourceArn)
}

type updateBackupsRequest struct {
	TableName                        string
	PointInTimeRecoverySpecification struct{ PointInTimeRecoveryEnabled bool }
}

func (s *Server) updateBackups(c *call, r *updateBackupsRequest) (any, error) {
	t, err := s.active(c, r.TableName)
	if err != nil {
		return nil, failure("TableNotFoundException", "Table not found: %s", r.TableName)
	}
	t.backups = r.PointInTimeRecoverySpecification.PointInTimeRecoveryEnabled
	return backupsAnswer(t), nil
}

func (s *Server) describeBackups(c *call, r *tableRequest) (any, error) {
	t := s.find(c, r.TableName)
	if t == nil {
		return nil, failure("TableNotFoundException", "Table not found: %s", r.TableName)
	}
	return backupsAnswer(t), nil
}

func backupsAnswer(t *table) any {
	status := "DISABLED"
	if t.backups {
		status = "ENABLED"
	}
	return map[string]any{"ContinuousBackupsDescription": map[string]any{
		"ContinuousBackupsStatus":        "ENABLED",
		"PointInTimeRecoveryDescription": map[string]string{"PointInTimeRecoveryStatus": status},
	}}
}
