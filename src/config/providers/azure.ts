import * as v from 'valibot';
import { field, optional } from '../../schema/fields.ts';
import { httpUrl } from '../fields/text.ts';
import type { ProviderKind, RequestPath } from './provider-kind.ts';
import { remote } from './remote-provider.ts';

/** Paths that dated versions serve below the deployment; all others exist in the v1 interface only. */
const DEPLOYMENT_PATHS =
  /^\/(?:(?:chat\/)?completions|embeddings|images\/(?:generations|edits)|audio\/(?:speech|transcriptions|translations))$/;

interface AzureSettings {
  readonly baseUrl: string;
  readonly apiVersion?: string | undefined;
}

/**
 * A request to Azure OpenAI, by its REST reference: the v1 interface names the deployment in the body
 * and needs no version, the dated ones name it in the path.
 */
function url(provider: AzureSettings, { path, model }: RequestPath): string {
  const { apiVersion } = provider;
  // Microsoft's pages show the base URL with and without these segments.
  const resource = provider.baseUrl.replace(/\/openai(?:\/v1)?$/, '');
  if (apiVersion === undefined) return `${resource}/openai/v1${path}`;
  if (apiVersion === 'preview') return `${resource}/openai/v1${path}?api-version=preview`;
  if (!DEPLOYMENT_PATHS.test(path)) return `${resource}/openai/v1${path}`;
  const deployment = encodeURIComponent(model);
  return `${resource}/openai/deployments/${deployment}${path}?api-version=${apiVersion}`;
}

/** OpenAI's models in Azure: a route's model is the name of a deployment. */
export const azure = {
  name: 'azure',
  genAiName: 'azure.ai.openai',
  settings: v.strictObject({
    kind: field(
      v.literal('azure'),
      "OpenAI's models in Azure, by deployment name: chat completions or responses, by the " +
        "route's dialect; images, videos, speech and transcriptions too.",
    ),
    ...remote,
    baseUrl: field(httpUrl(), 'URL of the resource: https://NAME.openai.azure.com.', {
      secret: 'interpolated',
    }),
    apiVersion: optional(
      v.pipe(v.string(), v.regex(/^(?:\d{4}-\d\d-\d\d(?:-preview)?|preview)$/)),
      'Version of the interface. Unset: the v1 interface. preview: v1 with preview features. ' +
        'A date: the interface whose paths name the deployment (responses still use v1). Chat ' +
        'completions need 2024-10-21 or newer.',
      {
        expects: 'preview, or a date such as 2024-10-21 or 2025-04-01-preview',
        example: '2024-10-21',
      },
    ),
  }),
  modelTypes: ['text', 'embedding', 'image', 'video', 'audio', 'transcription'],
  dialects: ['chat', 'responses'],
  defaultDialect: 'chat',
  credentials: (apiKey: string) => ({ 'api-key': apiKey }),
  url,
  mediaApi: 'openai',
} as const satisfies ProviderKind;
