// Loaded before a server's own program (node --require). It lets the server listen on free ports of the
// loopback address, whatever it asks for, tells them on stdout, and ends it with the process that
// started it: the other end of stdin.
"use strict";
const net = require("net");

const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (...args) {
  this.once("listening", () => process.stdout.write(`listening on ${this.address().port}\n`));
  const callback = args.filter((arg) => typeof arg === "function").slice(-1);
  return listen.call(this, { host: "127.0.0.1", port: 0 }, ...callback);
};

process.stdin.on("end", () => process.exit()).resume();
