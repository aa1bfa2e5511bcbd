import { createHash } from 'node:crypto';
import { expect, it, test } from 'vitest';
import { encodeKey, presignedUrl, signedRequest } from '../../../src/assets/s3/signature.ts';

// Examples of https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
const EXAMPLE = {
  credentials: {
    accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
    secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  },
  region: 'us-east-1',
};
const DATE = '20130524T000000Z';
const urlOf = (path: string) => new URL(`https://examplebucket.s3.amazonaws.com${path}`);

test.each<[string, string, string, Readonly<Record<string, string>>, string, string]>([
  [
    'a range',
    'GET',
    '/test.txt',
    { range: 'bytes=0-9' },
    '',
    'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
  ],
  [
    'a key that has to be encoded',
    'PUT',
    `/${encodeKey('test$file.text')}`,
    { date: 'Fri, 24 May 2013 00:00:00 GMT', 'x-amz-storage-class': 'REDUCED_REDUNDANCY' },
    'Welcome to Amazon S3.',
    '98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd',
  ],
  [
    'a parameter without a value',
    'GET',
    '/?lifecycle=',
    {},
    '',
    'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543',
  ],
  [
    'a listing',
    'GET',
    '/?prefix=J&max-keys=2',
    {},
    '',
    '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7',
  ],
])("the signature is that of AWS's example of %s", (_, method, path, more, body, signature) => {
  const sha256 = createHash('sha256').update(body).digest('hex');
  const headers = { ...more, 'x-amz-content-sha256': sha256, 'x-amz-date': DATE };
  const signed = signedRequest(urlOf(path), { method, headers }, EXAMPLE);
  expect(signed.headers['Authorization']).toMatch(new RegExp(`Signature=${signature}$`));
});

it("presigns the URL of AWS's example", () => {
  const { search } = new URL(presignedUrl(urlOf(`/test.txt?X-Amz-Date=${DATE}`), 86_400, EXAMPLE));
  expect(Object.fromEntries(new URLSearchParams(search))).toEqual({
    'X-Amz-Algorithm': 'AWS4-HMAC-SHA256',
    'X-Amz-Credential': 'AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request',
    'X-Amz-Date': DATE,
    'X-Amz-Expires': '86400',
    'X-Amz-SignedHeaders': 'host',
    'X-Amz-Signature': 'aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404',
  });
});

test('temporary credentials add their token as a signed header, or to the query of a URL', () => {
  const scope = { ...EXAMPLE, credentials: { ...EXAMPLE.credentials, sessionToken: 'a+b/c=' } };
  const { headers } = signedRequest(urlOf('/'), { method: 'GET', headers: {} }, scope);
  expect(headers['X-Amz-Security-Token']).toBe('a+b/c=');
  expect(headers['Authorization']).toContain(';x-amz-date;x-amz-security-token');
  const url = presignedUrl(urlOf('/'), 60, scope);
  expect(url).toContain('X-Amz-Security-Token=a%2Bb%2Fc%3D&');
  expect(url).not.toContain(EXAMPLE.credentials.secretAccessKey);
});
