import { expect, it } from 'vitest';
import { MOCK_CREDENTIALS, MOCK_REGION, startS3Mock } from '../../../assets/s3/s3-mock.ts';
import { startDaemon } from '../../../daemon.ts';
import { oriel } from '../../../oriel.ts';
import { listening } from '../../../upstream/servers.ts';

it('exports requests to a bucket, and replaces an object only where that is asked for', async () => {
  const mock = await startS3Mock(listening);
  const env = {
    AWS_ACCESS_KEY_ID: MOCK_CREDENTIALS.accessKeyId,
    AWS_SECRET_ACCESS_KEY: MOCK_CREDENTIALS.secretAccessKey,
  };
  const assets = {
    ...{ driver: 's3', endpoint: mock.endpoint, region: MOCK_REGION, bucket: 'files' },
    forcePathStyle: true,
  };
  const daemon = await startDaemon({ config: { assets }, env });
  const ask = async () => {
    const body = JSON.stringify({ model: 'none', messages: [] });
    const headers = { 'content-type': 'application/json' };
    await (await daemon.request('/v1/chat/completions', { method: 'POST', headers, body })).text();
  };
  await ask();
  const run = (...more: string[]) => {
    const place = ['--config', `${daemon.data}/oriel.yaml`, '--data', daemon.data];
    return oriel(['requests', 'export', 's3://bucket/logs/a b.jsonl', ...place, ...more], { env });
  };
  const linesOf = () => String(mock.objects.get('logs/a b.jsonl')!.content).match(/.+\n/g);
  expect(await run()).toMatchObject({ code: 0, stderr: '1 request exported\n' });
  expect(linesOf()).toEqual([expect.stringContaining('"named_model":"none"')]);
  await ask();
  expect(await run()).toMatchObject({
    code: 1,
    stderr: 'oriel: s3://bucket/logs/a b.jsonl exists already\n',
  });
  expect(linesOf()).toHaveLength(1);
  expect(await run('--overwrite')).toMatchObject({ code: 0 });
  expect(linesOf()).toHaveLength(2);
  const disk = ['--data', daemon.data, '--config', '/dev/null'];
  expect(await oriel(['requests', 'export', 's3://bucket/key', ...disk], { env })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('s3:// needs assets.driver: s3'),
  });
});
