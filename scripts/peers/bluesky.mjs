// usage: node bluesky.mjs PLC_PORT PDS_PORT FOLDER
//
// A did:plc directory that lives in memory, and the reference Bluesky server which registers
// its accounts there. One process, because neither is of use without the other.
import net from 'node:net';
import path from 'node:path';
import { PDS } from '@atproto/pds';
import plc from '@did-plc/server';

const [plcPort, pdsPort] = process.argv.slice(2, 4).map(Number);
const folder = process.argv[4];

// Both would listen on every address of the machine, and have no setting for it.
const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (port, ...rest) {
  if (typeof port !== 'number') throw new Error('expected to be given a port');
  return listen.call(this, port, '127.0.0.1', ...rest);
};

const directory = plc.PlcServer.create({ db: plc.Database.mock(), port: plcPort });
await directory.start();

// Ends the process on SIGTERM. The secrets guard nothing but test accounts.
await PDS.run({
  env: {
    devMode: true,
    port: pdsPort,
    hostname: 'localhost',
    serviceHandleDomains: ['.test'],
    inviteRequired: false,
    rateLimitsEnabled: false,
    // By name, as it will not look identities up at a bare address.
    didPlcUrl: `http://localhost:${plcPort}`,
    enableDidDocWithSession: true,
    dataDirectory: folder,
    blobstoreDiskLocation: path.join(folder, 'blobs'),
    blobUploadLimit: 100 * 1024 * 1024,
    jwtSecret: 'secret of the test server',
    adminPassword: 'admin of the test server',
    plcRotationKeyK256PrivateKeyHex: '01'.repeat(32),
  },
});
await directory.destroy();
process.exit(0);
