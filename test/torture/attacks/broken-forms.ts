import { BOUNDARY } from '../client.ts';
import { type Attack, OVERLOAD_STATUSES } from './attack.ts';

const PART = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="files"; filename="a.png"\r\n\r\n`;

const BODIES: readonly string[] = [
  '',
  '\r\n',
  PART,
  `${PART}abc`,
  `${PART}abc\r\n--${BOUNDARY}`,
  `--${BOUNDARY}--\r\n`,
  `--${BOUNDARY}\r\n\r\nno name\r\n--${BOUNDARY}--\r\n`,
  `--${BOUNDARY}\r\nContent-Disposition: form-data; name="__proto__"\r\n\r\nx\r\n--${BOUNDARY}--\r\n`,
  `--${BOUNDARY}\r\nX: ${'y'.repeat(200_000)}\r\n\r\nx\r\n--${BOUNDARY}--\r\n`,
  `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${'n'.repeat(50_000)}"\r\n\r\nx\r\n--${BOUNDARY}--\r\n`,
  `${`--${BOUNDARY}\r\nContent-Disposition: form-data; name="format"\r\n\r\nwebp\r\n`.repeat(20_000)}--${BOUNDARY}--\r\n`,
  `${`${PART}\r\n`.repeat(3000)}--${BOUNDARY}--\r\n`,
  `--${BOUNDARY}\r\nContent-Disposition: form-data; name="format"\r\n\r\n${'w'.repeat(3_000_000)}\r\n--${BOUNDARY}--\r\n`,
];

const PATHS = ['/api/free/batch-convert-images', '/v1/images/upload', '/v1/images/edits'];

export const brokenForms: Attack = {
  name: 'broken forms',
  summary: 'multipart forms without an end, with 20,000 fields, 3,000 files, or endless headers',
  async run(attacker) {
    for (const path of PATHS) {
      for (const body of BODIES) {
        const headers = { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` };
        const { key } = attacker;
        await attacker.ask({ method: 'POST', path, key, headers, body }, [
          400,
          413,
          ...OVERLOAD_STATUSES,
        ]);
      }
      const headers = { 'content-type': 'multipart/form-data' };
      await attacker.ask({ method: 'POST', path, key: attacker.key, headers, body: 'x' }, [
        400,
        415,
        ...OVERLOAD_STATUSES,
      ]);
    }
  },
};
