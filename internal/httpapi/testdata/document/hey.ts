// Drives the client that @hey-api/openapi-ts generates: a page goes live.
import { createPage, createSite, getPage, publishSite } from './hey/sdk.gen'
import { client } from './hey/client.gen'

const [baseUrl, key] = process.argv.slice(2)
client.setConfig({ baseUrl, auth: key })

async function main() {
  const site = await createSite({ body: { name: 'Shop' }, throwOnError: true })
  const page = await createPage({ body: { siteId: site.data.id, pathname: '/about', title: null }, throwOnError: true })
  await publishSite({ path: { siteId: site.data.id }, body: {}, throwOnError: true })
  const live = await getPage({ path: { pageIdOrPathname: page.data.id }, query: { versionRef: 'ref:live' }, throwOnError: true })
  const twice = await createPage({ body: { siteId: site.data.id, pathname: '/about' } })
  console.log(live.data.pathname, twice.error?.code)
}

void main()
