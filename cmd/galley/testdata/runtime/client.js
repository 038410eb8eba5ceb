// Reads a site with the client of @makeswift/runtime, which checks each response with
// its own schemas, and prints what it returns as JSON. The entry point `client` works
// in plain Node; the Makeswift class of the entry point `next` extends its client.
const { MakeswiftClient } = require('@makeswift/runtime/client')
const { ReactRuntime } = require('@makeswift/runtime/unstable-framework-support')

const { GALLEY_URL: apiOrigin, SITE_KEY: apiKey } = process.env

let requests = 0
const send = globalThis.fetch
globalThis.fetch = (...args) => {
  requests++
  return send(...args)
}

async function main() {
  // Version 0.26 takes the origin from the client's options, 0.28 from the runtime.
  const client = new MakeswiftClient(apiKey, { apiOrigin, runtime: new ReactRuntime({ apiOrigin, fetch }) })
  const print = {}

  print.all = await client.getPages()
  requests = 0
  print.walked = await client.getPages({ limit: 2, sortBy: 'path', sortDirection: 'desc' }).map(page => page.path).toArray()
  print.walkRequests = requests
  print.french = await client.getPages({ locale: 'fr', pathPrefix: '/à', includeOffline: false, sortBy: 'title' }).toArray()
  print.offline = await client.getPages({ pathPrefix: '/offline', includeOffline: true }).toArray()

  print.page = await client.getPage('/about')
  print.frenchPage = await client.getPage('/à-propos', { locale: 'fr' })
  print.home = await client.getPage('/')
  print.missing = await client.getPage('/missing')
  print.missingInFrench = await client.getPage('/about', { locale: 'fr' })
  print.offlinePage = await client.getPage('/offline')

  console.log(JSON.stringify(print))
}

main()
