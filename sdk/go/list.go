package galley

import (
	"fmt"
	"iter"
	"net/url"
	"reflect"
	"strings"
	"time"
)

// List is one page of a list.
type List[T any] struct {
	Data    []T  `json:"data"`
	HasMore bool `json:"hasMore"`
}

// ListOptions select a part of a list.
type ListOptions struct {
	Limit         int    `query:"limit"`         // 1 to 100; 0: the default, 20
	StartingAfter string `query:"startingAfter"` // the cursor: the last item of the page before
}

// maxLimit is the largest page that the server returns; walks use it.
const maxLimit = 100

// walk reads a list page by page. It ends after the first error.
func walk[T any](first ListOptions, cursor func(T) string, read func(ListOptions) (List[T], error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		page := first
		if page.Limit == 0 {
			page.Limit = maxLimit
		}
		for {
			list, err := read(page)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range list.Data {
				if !yield(item, nil) {
					return
				}
			}
			if !list.HasMore || len(list.Data) == 0 {
				return
			}
			page.StartingAfter = cursor(list.Data[len(list.Data)-1])
		}
	}
}

// values are the fields of a struct with query tags that are not zero. Lists are
// separated by commas.
func values(query any) url.Values {
	v := url.Values{}
	if query == nil {
		return v
	}
	addValues(v, reflect.ValueOf(query))
	return v
}

func addValues(v url.Values, s reflect.Value) {
	for i := range s.NumField() {
		field, value := s.Type().Field(i), s.Field(i)
		if field.Anonymous {
			addValues(v, value)
			continue
		}
		name := field.Tag.Get("query")
		if name == "" || value.IsZero() {
			continue
		}
		switch x := value.Interface().(type) {
		case time.Time:
			v.Set(name, x.UTC().Format(time.RFC3339Nano))
		case []string:
			v.Set(name, strings.Join(x, ","))
		default:
			v.Set(name, fmt.Sprint(x))
		}
	}
}
