import { expect, it } from 'vitest';
import { sign, signatureHeaders } from '../../../src/upstream/aws/signature.ts';

/** The account, place and time of AWS's published test suite for Signature Version 4. */
const SCOPE = {
  credentials: {
    accessKeyId: 'AKIDEXAMPLE',
    secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
  },
  region: 'us-east-1',
};
const DATE = { 'X-Amz-Date': '20150830T123600Z' };
const FORM = { 'Content-Type': 'application/x-www-form-urlencoded' };

/** Names, requests and signatures of the suite. */
it.each([
  [
    'get-vanilla',
    'GET',
    '/',
    {},
    '',
    '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31',
  ],
  [
    'get-vanilla-query-order-key-case',
    'GET',
    '/?Param2=value2&Param1=value1',
    {},
    '',
    'b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500',
  ],
  [
    'get-vanilla-utf8-query',
    'GET',
    '/?ሴ=bar',
    {},
    '',
    '2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04',
  ],
  [
    'post-vanilla',
    'POST',
    '/',
    {},
    '',
    '5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b',
  ],
  [
    'post-x-www-form-urlencoded',
    'POST',
    '/',
    FORM,
    'Param1=value1',
    'ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a',
  ],
] as const)('signs as AWS does: %s', (_, method, path, headers, body, signature) => {
  const url = new URL(`https://example.amazonaws.com${path}`);
  // The suite does not sign the length.
  const unsigned = { extraHeadersToIgnore: { 'content-length': true } };
  const request = { method, body, service: 'service', headers: { ...DATE, ...headers } };
  const { headers: signed } = sign(url, { ...request, ...unsigned }, SCOPE);
  expect(signed!['Authorization']).toContain(`Signature=${signature}`);
});

it('signs the path of a model encoded once more than it is sent, and nothing that proxies change', () => {
  const scope = { ...SCOPE, credentials: { ...SCOPE.credentials, sessionToken: 'the-token' } };
  const headers = { 'content-type': 'application/json', traceparent: '00-1-2-01' };
  const url = 'https://bedrock-runtime.us-east-1.amazonaws.com/model/a.b%3A0/invoke';
  const added = signatureHeaders(url, 'bedrock', { headers, body: '{}' }, scope);
  expect(added).toMatchObject({ 'X-Amz-Security-Token': 'the-token' });
  expect(added).not.toHaveProperty('traceparent');
  expect(added['Authorization']).toContain('content-type;host;x-amz-date;x-amz-security-token');
});
