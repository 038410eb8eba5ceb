// Drives openapi-fetch with the types of openapi-typescript: a page goes live.
import createClient from 'openapi-fetch'
import type { paths } from './schema'

const [baseUrl, key] = process.argv.slice(2)
const galley = createClient<paths>({ baseUrl, headers: { 'x-api-key': key } })

async function main() {
  const site = await galley.POST('/v2/sites', { body: { name: 'Shop' } })
  const siteId = site.data!.id
  const page = await galley.POST('/v6/pages', { body: { siteId, pathname: '/about', title: null } })
  await galley.POST('/v2/sites/{siteId}/publish', { params: { path: { siteId } } })
  const live = await galley.GET('/v6/pages/{pageIdOrPathname}', {
    params: { path: { pageIdOrPathname: page.data!.id }, query: { versionRef: 'ref:live' } },
  })
  const twice = await galley.POST('/v6/pages', { body: { siteId, pathname: '/about' } })
  console.log(live.data?.pathname, twice.error?.code)
}

void main()
