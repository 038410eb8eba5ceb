package backup

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// A record starts with its kind.
const (
	tableRecord = 'T' // a name, a number of columns, their names
	rowRecord   = 'R' // a value for each column
)

// A value starts with its kind. Integers are varints, and text and bytes follow
// their length.
const (
	kindNull = iota
	kindFalse
	kindTrue
	kindInt
	kindFloat
	kindText
	kindBytes
)

func appendTable(b []byte, name string, columns []string) []byte {
	b = appendText(append(b, tableRecord), name)
	b = binary.AppendUvarint(b, uint64(len(columns)))
	for _, column := range columns {
		b = appendText(b, column)
	}
	return b
}

func appendText[T string | []byte](b []byte, text T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

func appendRow(b []byte, values []any) ([]byte, error) {
	b = append(b, rowRecord)
	for _, value := range values {
		switch v := value.(type) {
		case nil:
			b = append(b, kindNull)
		case bool:
			b = append(b, kindFalse)
			if v {
				b[len(b)-1] = kindTrue
			}
		case int64:
			b = binary.AppendVarint(append(b, kindInt), v)
		case float64:
			b = binary.BigEndian.AppendUint64(append(b, kindFloat), math.Float64bits(v))
		case string:
			b = appendText(append(b, kindText), v)
		case []byte:
			b = appendText(append(b, kindBytes), v)
		default:
			return nil, fmt.Errorf("a backup can't have a value of type %T", value)
		}
	}
	return b, nil
}

// readRecords sends every record to a sink.
func readRecords(in *bufio.Reader, to Sink) error {
	columns := -1 // no table yet
	for {
		kind, err := in.ReadByte()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch {
		case kind == tableRecord:
			if columns, err = readTable(in, to); err != nil {
				return unexpected(err)
			}
		case kind == rowRecord && columns >= 0:
			values := make([]any, columns)
			for i := range values {
				if values[i], err = readValue(in); err != nil {
					return unexpected(err)
				}
			}
			if err := to.Row(values); err != nil {
				return err
			}
		default:
			return fmt.Errorf("unexpected record kind %d", kind)
		}
	}
}

// maxColumns bounds the memory that a bad number of columns can take.
const maxColumns = 1000

func readTable(in *bufio.Reader, to Sink) (int, error) {
	name, err := readBytes(in)
	if err != nil {
		return 0, err
	}
	n, err := binary.ReadUvarint(in)
	if err != nil {
		return 0, err
	}
	if n > maxColumns {
		return 0, fmt.Errorf("a table of %d columns", n)
	}
	columns := make([]string, n)
	for i := range columns {
		column, err := readBytes(in)
		if err != nil {
			return 0, err
		}
		columns[i] = string(column)
	}
	return len(columns), to.Table(string(name), columns)
}

func readValue(in *bufio.Reader) (any, error) {
	kind, err := in.ReadByte()
	if err != nil {
		return nil, err
	}
	switch kind {
	case kindNull:
		return nil, nil //nolint:nilnil // a null is a value
	case kindFalse, kindTrue:
		return kind == kindTrue, nil
	case kindInt:
		return binary.ReadVarint(in)
	case kindFloat:
		var bits [8]byte
		_, err := io.ReadFull(in, bits[:])
		return math.Float64frombits(binary.BigEndian.Uint64(bits[:])), err
	case kindText:
		text, err := readBytes(in)
		return string(text), err
	case kindBytes:
		return readBytes(in)
	}
	return nil, fmt.Errorf("unknown value kind %d", kind)
}

// smallValue is the length up to which the memory of a value is allocated at
// once; that of a longer one grows as its bytes are read.
const smallValue = 64 << 10

func readBytes(in *bufio.Reader) ([]byte, error) {
	n, err := binary.ReadUvarint(in)
	if err != nil {
		return nil, err
	}
	if n <= smallValue {
		b := make([]byte, n)
		_, err := io.ReadFull(in, b)
		return b, err
	}
	if n > math.MaxInt32 {
		return nil, fmt.Errorf("a value of %d bytes", n)
	}
	var b bytes.Buffer
	_, err = io.CopyN(&b, in, int64(n))
	return b.Bytes(), err
}

// unexpected replaces an EOF, since it is inside of a record.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
