package console

import (
	"net/http"
)

// confirmation is a question before something that takes away.
type confirmation struct {
	title, text, button string
	action, do, back    string
	ids                 []string
}

// bulk does something to the pages that are selected, to all of them or to none.
func bulk(v *visit, q pagesQuery) error {
	ids, back := v.PostForm["id"], q.address()
	if len(ids) == 0 {
		return v.done(back, nothingSelected)
	}
	operation := map[string]any{}
	var message string
	switch v.PostFormValue("do") {
	case "delete":
		return v.show(http.StatusOK, bulkDelete, confirmScreen(v, confirmation{
			title: deletePagesTitle(len(ids)), text: deletePagesText, button: deletePagesTitle(len(ids)), action: back, do: "deleteConfirmed", back: back, ids: ids,
		}))
	case "deleteConfirmed":
		operation["op"], message = "delete", pagesDeleted(len(ids))
	case "online", "offline":
		online := v.PostFormValue("do") == "online"
		operation["op"], operation["isOnline"] = "update", online
		if q.locale != "" {
			operation["locale"] = q.locale
		}
		message = pagesSwitched(len(ids), online)
	case "reset":
		operation["op"], operation["locale"], message = "delete", q.locale, pagesReset(len(ids), q.locale)
	case "restore":
		return restorePages(v, ids, back)
	case "publish":
		redirect(v.w, v.Request, at(sitePath(v.site.ID, "/review"), "pages", joinIDs(ids)))
		return nil
	default:
		return &problem{Status: http.StatusBadRequest, Message: badForm}
	}
	operations := make([]map[string]any, len(ids))
	for i, id := range ids {
		operations[i] = map[string]any{"pageId": id}
		for name, value := range operation {
			operations[i][name] = value
		}
	}
	answer := v.send(http.MethodPost, "/v6/pages/batch", map[string]any{"siteId": v.site.ID, "operations": operations})
	if p := answer.problem(); p != nil {
		return p
	}
	return v.done(back, message)
}

func restorePages(v *visit, ids []string, back string) error {
	for _, id := range ids {
		if p := v.send(http.MethodPost, "/v6/pages/"+pathValue(id)+"/restore", nil).problem(); p != nil {
			return p
		}
	}
	return v.done(back, pagesRestored(len(ids)))
}
