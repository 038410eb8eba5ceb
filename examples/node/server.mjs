// A website in one file, without dependencies: Galley has the pages, and this program
// renders them. See README.md beside it.
import { createServer } from 'node:http'

const galley = process.env.GALLEY_URL ?? 'http://127.0.0.1:8080'
const siteId = process.env.SITE_ID
const siteKey = process.env.SITE_KEY
const port = Number(process.env.PORT ?? 3000)
const origin = process.env.ORIGIN ?? `http://127.0.0.1:${port}`

// Responses by key and path. Galley sends 304 while they are current, at little cost.
const known = new Map()

async function read(path, key) {
  const kept = known.get(key + path)
  const headers = { 'x-api-key': key }
  if (kept) headers['if-none-match'] = kept.etag
  const response = await fetch(galley + path, { headers })
  if (response.status === 304) return kept
  const body = await response.text()
  const answer = { status: response.status, type: response.headers.get('content-type'), etag: response.headers.get('etag'), body }
  if (response.ok && answer.etag) known.set(key + path, answer)
  return answer
}

const server = createServer(async (request, response) => {
  try {
    await serve(request, response)
  } catch (error) {
    console.error(error)
    send(response, 502, 'text/plain; charset=utf-8', 'The content is not available, try again shortly.\n')
  }
})

async function serve(request, response) {
  const url = new URL(request.url, origin)
  if (url.pathname === '/preview') return startPreview(url, response)
  if (url.pathname === '/sitemap.xml' || url.pathname === '/robots.txt') {
    const query = new URLSearchParams(url.searchParams)
    query.set('origin', origin)
    const file = await read(`/v2/sites/${siteId}${url.pathname}?${query}`, siteKey)
    return send(response, file.status, file.type, file.body)
  }
  // A preview token in a cookie reads the draft instead of the live version.
  const token = /(?:^|; )preview=([^;]+)/.exec(request.headers.cookie ?? '')?.[1]
  const query = new URLSearchParams({ url: url.href, siteId, include: 'content' })
  const answer = await read(`/v2/resolve?${query}`, token ?? siteKey)
  if (answer.status !== 200) throw new Error(`resolve: ${answer.status} ${answer.body}`)
  const resolution = JSON.parse(answer.body)
  switch (resolution.kind) {
    case 'page':
      return send(response, 200, 'text/html; charset=utf-8', render(resolution, token !== undefined))
    case 'redirect':
      response.writeHead(resolution.redirect.status, { location: resolution.redirect.url ?? resolution.redirect.target })
      return response.end()
    default:
      return send(response, 404, 'text/html; charset=utf-8', '<!doctype html><title>Not found</title><h1>Not found</h1>')
  }
}

// startPreview takes the link of a preview: it keeps the token for an hour and leads to the
// page in the locale of the preview.
async function startPreview(url, response) {
  const token = url.searchParams.get('token')
  const locale = url.searchParams.get('locale')
  const query = new URLSearchParams({ url: url.searchParams.get('path') ?? '/', siteId })
  const answer = await read(`/v2/resolve?${query}`, token)
  if (answer.status !== 200) return send(response, 403, 'text/plain; charset=utf-8', 'This preview has ended.\n')
  const { alternates, url: own } = JSON.parse(answer.body)
  const target = alternates.find((alternate) => alternate.locale === locale)?.url ?? own ?? '/'
  response.writeHead(307, {
    location: target,
    'set-cookie': `preview=${encodeURIComponent(token)}; Path=/; Max-Age=3600; HttpOnly; SameSite=Lax`,
  })
  response.end()
}

function render({ page, url, alternates, content }, isPreview) {
  const head = [
    `<title>${escape(page.title ?? page.name)}</title>`,
    page.description && `<meta name="description" content="${escape(page.description)}">`,
    page.excludedFromSearchEngines && '<meta name="robots" content="noindex">',
    `<link rel="canonical" href="${escape(page.canonicalUrl ?? url ?? '')}">`,
    ...alternates.map(({ locale, url }) => `<link rel="alternate" hreflang="${locale}" href="${escape(url)}">`),
  ]
  const blocks = (content?.blocks ?? []).map((block) =>
    block.type === 'heading' ? `<h2>${escape(block.text)}</h2>` : `<p>${escape(block.text)}</p>`)
  return `<!doctype html>
<html lang="${page.locale}">
<meta charset="utf-8">
${head.filter(Boolean).join('\n')}
<body>
${isPreview ? '<p><strong>Preview</strong></p>\n' : ''}<h1>${escape(page.title ?? page.name)}</h1>
${blocks.join('\n')}
</body>
</html>
`
}

function escape(text) {
  return String(text).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`)
}

function send(response, status, type, body) {
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body) })
  response.end(body)
}

server.listen(port, '127.0.0.1', () => console.log(`listening on ${origin}`))
