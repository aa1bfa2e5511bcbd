import { createServer, request as send } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { openServer } from '../fixtures/open-server.ts';
import { REGION, SESSION_TOKEN, startBedrock } from './bedrock/bedrock-mock.ts';
import { claudeFault, PATH, UNAUTHENTICATED } from './vertex/vertex-upstream.ts';

export const CLOUDS = ['bedrock', 'vertex'] as const;
export type CloudName = (typeof CLOUDS)[number];

/** A cloud before a mock of the formats that its models have. */
export interface Cloud {
  /** Settings of the provider. */
  readonly provider: object;
  /** Variables of the daemon that asks it. */
  readonly env: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

/** What a request to a cloud has that no client may see. */
export const CLOUD_SECRETS: Readonly<Record<CloudName, string>> = {
  bedrock: SESSION_TOKEN,
  vertex: 'vertex-token-5ecre7',
};

export async function startCloud(name: CloudName, target: string): Promise<Cloud> {
  return name === 'bedrock' ? bedrockBefore(target) : vertexBefore(target);
}

async function bedrockBefore(target: string): Promise<Cloud> {
  const { url, close } = await startBedrock(target);
  return {
    provider: { kind: 'bedrock', baseUrl: url, region: REGION },
    env: {
      AWS_ACCESS_KEY_ID: 'ASIASTATIC',
      AWS_SECRET_ACCESS_KEY: 'static/secret+5ecre7',
      AWS_SESSION_TOKEN: SESSION_TOKEN,
    },
    close,
  };
}

const TOKEN = CLOUD_SECRETS.vertex;

/** Claude and open models at Vertex, with a metadata server that gives the token. */
async function vertexBefore(target: string): Promise<Cloud> {
  const server = createServer(async (request, response) => {
    const { url = '', headers, method } = request;
    const text = (await buffer(request)).toString();
    if (url.startsWith('/computeMetadata/v1/')) {
      return response.end(JSON.stringify({ access_token: TOKEN, expires_in: 3600 }));
    }
    const refuse = (status: number, body: object) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (headers.authorization !== `Bearer ${TOKEN}`) return refuse(401, UNAUTHENTICATED.body);
    const given = JSON.parse(text);
    const [, , model = '', verb = ''] = PATH.exec(url) ?? [];
    const fault = verb === '' ? undefined : claudeFault(model, verb, given);
    const isOpen = url.endsWith('/locations/europe-west1/endpoints/openapi/chat/completions');
    if (fault !== undefined || (verb === '' && !isOpen)) {
      return refuse(400, { error: { code: 400, message: fault ?? url, status: 'INVALID' } });
    }
    const { anthropic_version: _, ...own } = given;
    const isCount = model === 'count-tokens';
    const path = isOpen ? '/chat/completions' : `/messages${isCount ? '/count_tokens' : ''}`;
    const asked = isOpen || isCount ? own : { model: decodeURIComponent(model), ...own };
    // The body is another, and so is its length.
    const { 'content-length': __, ...passed } = headers;
    const options = { method, headers: passed };
    const inner = send(target + path, options, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers);
      answer.on('error', () => response.destroy()).pipe(response);
    });
    response.on('close', () => inner.destroy());
    inner.on('error', () => response.destroy()).end(JSON.stringify(asked));
    return undefined;
  });
  server.keepAliveTimeout = 600_000;
  const { url, close } = await openServer(server);
  const place = { project: 'project-1', location: 'europe-west1' };
  return {
    provider: { kind: 'vertex', baseUrl: url, ...place },
    env: { GCE_METADATA_HOST: url.replace('http://', '') },
    close,
  };
}
