package client

import (
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	galley "galley/sdk/go"
)

type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// scripts ask the program itself what may come next, so they hold no commands.
var scripts = map[string]string{
	"bash": `_galley() {
  local IFS=$'\n'
  COMPREPLY=($(galley complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
  [ "${#COMPREPLY[@]}" = 0 ] || COMPREPLY=($(printf '%q\n' "${COMPREPLY[@]}"))
}
complete -o default -F _galley galley
`,
	"zsh": `#compdef galley
_galley() {
  local -a found
  found=("${(@f)$(galley complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "$found" ]]; then compadd -- $found; else _files; fi
}
compdef _galley galley
`,
	"fish": `complete -c galley -a '(galley complete -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
`,
}

func (c *completionCommand) Run(t *Terminal) error { return t.print(scripts[c.Shell]) }

// completeCommand prints what the last of the words may become, one in a line. Scripts of
// shells call it.
type completeCommand struct {
	Words []string `arg:"" optional:"" passthrough:""`
}

func (c *completeCommand) Run(t *Terminal, app *kong.Kong) error {
	words := c.Words
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	if len(words) == 0 {
		words = []string{""}
	}
	var b strings.Builder
	for _, candidate := range candidatesFor(app.Model.Node, words, func() []string { return siteNames(t) }) {
		if strings.HasPrefix(candidate, words[len(words)-1]) {
			b.WriteString(candidate + "\n")
		}
	}
	return t.print(b.String())
}

// candidatesFor returns the commands, flags or values that may stand at the end of words.
func candidatesFor(node *kong.Node, words []string, sites func() []string) []string {
	flags := node.AllFlags(true)
	arguments := 0
	for i, word := range words[:len(words)-1] {
		switch {
		case strings.HasPrefix(word, "-"):
			if f := findFlag(flags, word); f != nil && !f.IsBool() && i == len(words)-2 {
				return valuesOf(f.Value, sites)
			}
		case i > 0 && takesValue(flags, words[i-1]):
		default:
			child := findChild(node, word)
			if child == nil {
				arguments++
				continue
			}
			node, arguments = child, 0
			if node.DefaultCmd != nil {
				node = node.DefaultCmd
			}
			flags = node.AllFlags(true)
		}
	}
	var found []string
	if strings.HasPrefix(words[len(words)-1], "-") {
		for _, level := range flags {
			for _, f := range level {
				found = append(found, "--"+f.Name)
			}
		}
		return found
	}
	for _, child := range commandsOf(node) {
		found = append(found, child.Name)
	}
	if arguments < len(node.Positional) {
		found = append(found, valuesOf(node.Positional[arguments], sites)...)
	}
	return found
}

// commandsOf returns the commands that may follow one; those beside a default command, too.
func commandsOf(node *kong.Node) []*kong.Node {
	if node.Parent != nil && node.Parent.DefaultCmd == node {
		node = node.Parent
	}
	return slices.DeleteFunc(slices.Clone(node.Children), func(n *kong.Node) bool { return n.Hidden })
}

func findChild(node *kong.Node, word string) *kong.Node {
	for _, child := range commandsOf(node) {
		if child.Name == word || slices.Contains(child.Aliases, word) {
			return child
		}
	}
	return nil
}

func findFlag(flags [][]*kong.Flag, word string) *kong.Flag {
	for _, level := range flags {
		for _, f := range level {
			if word == "--"+f.Name || f.Short != 0 && word == "-"+string(f.Short) {
				return f
			}
		}
	}
	return nil
}

// takesValue reports whether the word after another is its value.
func takesValue(flags [][]*kong.Flag, word string) bool {
	f := findFlag(flags, word)
	return f != nil && !f.IsBool()
}

// valuesOf returns the values that a flag or an argument may have.
func valuesOf(value *kong.Value, sites func() []string) []string {
	switch {
	case value.Name == "site":
		return sites()
	case value.Enum != "":
		return strings.Split(value.Enum, ",")
	}
	return nil
}

// siteNames returns the names of the first sites, or nothing if the server does not answer.
func siteNames(t *Terminal) []string {
	s, err := (&Flags{}).Open(t)
	if err != nil {
		return nil
	}
	sites, err := s.Client.Sites.List(s.ctx(), galley.SiteQuery{ListOptions: galley.ListOptions{Limit: 100}})
	if err != nil {
		return nil
	}
	names := make([]string, len(sites.Data))
	for i, site := range sites.Data {
		names[i] = site.Name
	}
	return names
}
