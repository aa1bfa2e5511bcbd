/** Files that examples send until the reader chooses others. */

/** A picture of colours and edges. */
async function samplePicture(): Promise<File> {
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [320, 240];
  const context = canvas.getContext('2d')!;
  const sky = context.createLinearGradient(0, 0, 0, 240);
  sky.addColorStop(0, '#1d4e89');
  sky.addColorStop(0.7, '#f7b267');
  context.fillStyle = sky;
  context.fillRect(0, 0, 320, 240);
  context.fillStyle = '#0b2545';
  context.fillRect(0, 190, 320, 50);
  context.fillStyle = '#f4f4f4';
  context.fillRect(150, 90, 24, 100);
  const blob = await new Promise<Blob>((resolve, reject) => {
    canvas.toBlob((made) => (made ? resolve(made) : reject(new Error('no picture'))), 'image/png');
  });
  return new File([blob], 'sample.png', { type: 'image/png' });
}

const RATE = 8000;

/** Half a second of a tone, as WAV of 16 bits. */
function sampleSound(): File {
  const samples = RATE / 2;
  const bytes = new DataView(new ArrayBuffer(44 + samples * 2));
  const text = (at: number, value: string) => {
    for (let index = 0; index < value.length; index += 1) {
      bytes.setUint8(at + index, value.charCodeAt(index));
    }
  };
  text(0, 'RIFF');
  bytes.setUint32(4, 36 + samples * 2, true);
  text(8, 'WAVEfmt ');
  bytes.setUint32(16, 16, true);
  bytes.setUint16(20, 1, true);
  bytes.setUint16(22, 1, true);
  bytes.setUint32(24, RATE, true);
  bytes.setUint32(28, RATE * 2, true);
  bytes.setUint16(32, 2, true);
  bytes.setUint16(34, 16, true);
  text(36, 'data');
  bytes.setUint32(40, samples * 2, true);
  for (let index = 0; index < samples; index += 1) {
    const value = Math.sin((2 * Math.PI * 440 * index) / RATE) * 8000;
    bytes.setInt16(44 + index * 2, value, true);
  }
  return new File([bytes.buffer], 'sample.wav', { type: 'audio/wav' });
}

/** Name of the file that an endpoint's example sends. */
export function sampleName(path: string): string {
  return path.startsWith('/v1/audio/') ? 'sample.wav' : 'sample.png';
}

export async function sampleFile(path: string): Promise<File> {
  return sampleName(path) === 'sample.wav' ? sampleSound() : samplePicture();
}
