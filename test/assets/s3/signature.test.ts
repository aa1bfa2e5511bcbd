import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  EMPTY_SHA256,
  encodeKey,
  presignedQuery,
  type SignedRequest,
  signedHeaders,
} from '../../../src/assets/s3/signature.ts';

// Examples of https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
const EXAMPLE = {
  credentials: {
    accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
    secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  },
  region: 'us-east-1',
  time: Date.UTC(2013, 4, 24),
};
const host = 'examplebucket.s3.amazonaws.com';

function exampleSignature(request: Omit<SignedRequest, 'host'>, body = ''): string | undefined {
  const sha256 = createHash('sha256').update(body).digest('hex');
  const headers = { ...request.headers, 'x-amz-content-sha256': sha256 };
  const signed = signedHeaders({ ...request, headers, host }, sha256, EXAMPLE);
  return /Signature=(.*)$/.exec(signed['authorization']!)?.[1];
}

describe("signatures of AWS's published examples", () => {
  it('match for a GET of a range', () => {
    const request = { method: 'GET', path: '/test.txt', headers: { range: 'bytes=0-9' } };
    expect(exampleSignature(request)).toBe(
      'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
    );
  });

  it('match for a PUT with a key that has to be encoded', () => {
    const headers = {
      date: 'Fri, 24 May 2013 00:00:00 GMT',
      'x-amz-storage-class': 'REDUCED_REDUNDANCY',
    };
    const path = `/${encodeKey('test$file.text')}`;
    expect(exampleSignature({ method: 'PUT', path, headers }, 'Welcome to Amazon S3.')).toBe(
      '98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd',
    );
  });

  it('match for a parameter without a value', () => {
    expect(exampleSignature({ method: 'GET', path: '/', query: { lifecycle: '' } })).toBe(
      'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543',
    );
  });

  it('match for a listing', () => {
    const query = { prefix: 'J', 'max-keys': '2' };
    expect(exampleSignature({ method: 'GET', path: '/', query })).toBe(
      '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7',
    );
  });

  it('match for a presigned URL', () => {
    expect(presignedQuery({ method: 'GET', path: '/test.txt', host }, 86_400, EXAMPLE)).toBe(
      'X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request' +
        '&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host' +
        '&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404',
    );
  });

  it('match for get-vanilla of the general test suite', () => {
    const scope = {
      credentials: {
        accessKeyId: 'AKIDEXAMPLE',
        secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
      },
      region: 'us-east-1',
      service: 'service',
      time: Date.UTC(2015, 7, 30, 12, 36),
    };
    const request = { method: 'GET', path: '/', host: 'example.amazonaws.com' };
    expect(signedHeaders(request, EMPTY_SHA256, scope)).toEqual({
      'x-amz-date': '20150830T123600Z',
      authorization:
        'AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=host;x-amz-date, ' +
        'Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31',
    });
  });
});

describe('signatures with temporary credentials', () => {
  const scope = { ...EXAMPLE, credentials: { ...EXAMPLE.credentials, sessionToken: 'a+b/c=' } };

  it('sign the session token as a header', () => {
    const headers = signedHeaders({ method: 'GET', path: '/', host }, EMPTY_SHA256, scope);
    expect(headers['x-amz-security-token']).toBe('a+b/c=');
    expect(headers['authorization']).toContain(
      'SignedHeaders=host;x-amz-date;x-amz-security-token',
    );
  });

  it('sign the session token in the query of a presigned URL', () => {
    const query = presignedQuery({ method: 'GET', path: '/', host }, 60, scope);
    expect(query).toContain('X-Amz-Security-Token=a%2Bb%2Fc%3D&');
    expect(query).not.toContain(EXAMPLE.credentials.secretAccessKey);
  });
});
