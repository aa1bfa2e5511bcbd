import { shellQuoted } from '../../clients/quoting.ts';
import { SERVER } from '../api/request.ts';

/** A field of a form: a text, or a file by its name. */
export type ShownField = readonly [name: string, value: string | { readonly file: string }];

/** A request to show as a command or as code. */
export interface ShownRequest {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Relative to the server, without a slash at the start. */
  readonly path: string;
  readonly json?: unknown;
  readonly form?: readonly ShownField[];
  /** File that the answer is written to, if it is no text. */
  readonly output?: string;
  /** Whether the answer streams. */
  readonly isStream?: boolean;
  /** Whether the endpoint needs no key. */
  readonly isOpen?: boolean;
}

/** A request as a command of curl, with the key in the variable ORIEL_API_KEY. */
export function curlOf(request: ShownRequest): string {
  const { method, path, json, form, output, isStream, isOpen } = request;
  const body = json !== undefined || form !== undefined;
  const parts = [
    `curl ${isStream ? '-N ' : ''}${method !== (body ? 'POST' : 'GET') ? `-X ${method} ` : ''}${shellQuoted(new URL(path, SERVER).href)}`,
    ...(isOpen ? [] : ['-H "Authorization: Bearer $ORIEL_API_KEY"']),
    ...(json === undefined
      ? []
      : [
          "-H 'Content-Type: application/json'",
          `-d ${shellQuoted(JSON.stringify(json, null, 2))}`,
        ]),
    ...(form ?? []).map(formFlag),
    ...(output === undefined ? [] : [`-o ${shellQuoted(output)}`]),
  ];
  return parts.join(' \\\n  ');
}

/** A field of a form for curl, which reads `@`, `<` and `;` in the value of -F as instructions. */
function formFlag([name, value]: ShownField): string {
  if (typeof value === 'string') {
    return `${/^[@<]|;/.test(value) ? '--form-string' : '-F'} ${shellQuoted(`${name}=${value}`)}`;
  }
  const { file } = value;
  const path = /[",;\\]/.test(file) ? `"${file.replace(/["\\]/g, '\\$&')}"` : file;
  return `-F ${shellQuoted(`${name}=@${path}`)}`;
}

/** A request as JavaScript with fetch. */
export function fetchOf({ method, path, json, form, isStream, isOpen }: ShownRequest): string {
  const url = new URL(path, SERVER).href;
  const headers = [
    ...(isOpen ? [] : ["    authorization: 'Bearer ' + process.env.ORIEL_API_KEY,"]),
    ...(json === undefined ? [] : ["    'content-type': 'application/json',"]),
  ];
  const fields = (form ?? []).map(([name, value]) => {
    const field = JSON.stringify(name);
    if (typeof value === 'string') return `form.append(${field}, ${JSON.stringify(value)});`;
    const file = JSON.stringify(value.file);
    return `form.append(${field}, await openAsBlob(${file}), ${file});`;
  });
  const body = json === undefined ? [] : [`  body: JSON.stringify(${indented(json)}),`];
  return [
    ...(fields.some((line) => line.includes('openAsBlob'))
      ? ["import { openAsBlob } from 'node:fs';", '']
      : []),
    ...(form ? ['const form = new FormData();', ...fields, ''] : []),
    `const response = await fetch(${JSON.stringify(url)}, {`,
    `  method: '${method}',`,
    '  headers: {',
    ...headers,
    '  },',
    ...(form ? ['  body: form,'] : body),
    '});',
    isStream
      ? 'for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {\n  process.stdout.write(chunk);\n}'
      : 'console.log(response.status, await response.text());',
  ].join('\n');
}

function indented(value: unknown): string {
  return JSON.stringify(value, null, 2).replaceAll('\n', '\n  ');
}

/** Packages of the official SDKs, and the path of the server that each gets. */
const SDKS = {
  OpenAI: { module: 'openai', path: 'v1' },
  Anthropic: { module: '@anthropic-ai/sdk', path: '' },
} as const;

export type Sdk = keyof typeof SDKS;

/** Code for an SDK: lines after those that import it and make a client. */
export function sdkCode(
  sdk: Sdk,
  lines: readonly string[],
): readonly [label: string, text: string] {
  const { module, path } = SDKS[sdk];
  const head = [
    `import ${sdk} from '${module}';`,
    '',
    `const client = new ${sdk}({`,
    `  baseURL: '${new URL(path, SERVER).href.replace(/\/$/, '').replaceAll("'", '%27')}',`,
    '  apiKey: process.env.ORIEL_API_KEY,',
    '});',
  ];
  return [`${sdk} SDK`, [...head, ...lines].join('\n')];
}
