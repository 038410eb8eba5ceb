import { createServer } from "node:http";
import { Webhook } from "standardwebhooks";

const webhook = new Webhook(process.env.WEBHOOK_SECRET);

createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = Buffer.concat(chunks).toString();
  try {
    webhook.verify(body, request.headers);
  } catch {
    response.writeHead(400).end();
    return;
  }
  const event = JSON.parse(body);
  console.log(event.id, event.type, event.data.id);
  response.writeHead(204).end(); // any status of 200 to 299, within 15 seconds
}).listen(Number(process.env.PORT ?? 9000), "127.0.0.1");
